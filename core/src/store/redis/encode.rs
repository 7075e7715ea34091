//! Calls of the script: decisions, encoded as the script reads them.

use redis::Cmd;

use super::keys::{Key, both, slot};
use super::layout::Layout;
use super::script::{SHA, SOURCE};
use crate::decision::{self, Impossible, Verb, priors, takes};
use crate::distinct::Distinct;
use crate::inline_vec::InlineVec;
use crate::limit::{Rule, real};
use crate::time::{EXACT, Micros};

/// A decision for a server to make.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(super) verb: Verb,
    /// Names that are all different. Those of a reset are all that its checks can have.
    pub(crate) entries: InlineVec<Key>,
    pub(crate) parts: InlineVec<Part>,
    /// Given by the caller; otherwise the server's clock says.
    pub(crate) now: Option<Micros>,
    pub(super) layout: Layout,
}

/// One check of a decision.
pub(crate) type Part = decision::Part<Rule>;

impl Decision {
    /// A call; on error, the index of the check whose cost is above what it can ever admit.
    pub(crate) fn call(
        verb: Verb,
        entries: InlineVec<Key>,
        parts: InlineVec<Part>,
        now: Option<Micros>,
    ) -> Result<Self, (usize, Impossible)> {
        let decision = Self { verb, entries, parts, now, layout: Layout::Own };
        if matches!(verb, Verb::Limit | Verb::Peek | Verb::Acquire { .. }) {
            for ((index, part), prior) in decision.parts.iter().enumerate().zip(decision.priors()) {
                let total = part.cost.saturating_add(prior);
                if total > part.rule.largest_cost() {
                    return Err((index, Impossible::NeverFits { quota: part.rule.quota(), total }));
                }
            }
        }
        Ok(decision)
    }

    /// Removes these entries.
    pub(crate) fn reset(entries: InlineVec<Key>) -> Self {
        Self { verb: Verb::Reset, entries, parts: InlineVec::new(), now: None, layout: Layout::Own }
    }

    /// The same decision about entries in this layout, whose names these are.
    pub(crate) fn laid_out(mut self, layout: Layout) -> Self {
        self.layout = layout;
        if layout == Layout::Sharkey {
            // What is not encoded may be the same for two actors.
            let (mut names, mut firsts): (Distinct<Key>, InlineVec<usize>) = (Distinct::default(), InlineVec::new());
            let mut first_of_its_name = |(index, name): (usize, &Key)| {
                let place = names.index_of(name);
                if place == firsts.len() {
                    firsts.push(index);
                }
                firsts[place]
            };
            let places: InlineVec<usize> = self.entries.iter().enumerate().map(&mut first_of_its_name).collect();
            for part in &mut self.parts {
                part.entry = places[part.entry];
            }
        }
        self
    }

    /// The instant of the decision, in whole milliseconds where the layout is.
    pub(super) fn instant(&self, server: Option<Micros>) -> Option<Micros> {
        let now = self.now.or(server)?;
        Some(if self.layout == Layout::Sharkey { now - now % 1000 } else { now })
    }

    /// The same checks under another verb.
    pub(crate) fn with(&self, verb: Verb) -> Self {
        Self { verb, ..self.clone() }
    }

    /// What gives back its charges: all at one instant, but for those of its checks that these instants are of.
    pub(crate) fn undone(&self, charged_at: Micros, each: impl IntoIterator<Item = Micros>) -> Self {
        let mut undo = self.with(Verb::Undo { charged_at });
        for (part, at) in undo.parts.iter_mut().zip(each) {
            part.charged_at = Some(at);
        }
        undo
    }

    /// The same for this process's memory alone: it does not have what a receipt of the store's gives back.
    pub(crate) fn outside_the_store(&self) -> Self {
        let mut decision = self.clone();
        if let Verb::Undo { .. } = self.verb {
            for part in &mut decision.parts {
                (part.cost, part.spent) = (0, self.verb.adds(part.cost, part.spent));
            }
        }
        decision
    }

    /// The cost of each check that an error names.
    pub(crate) fn costs(&self) -> InlineVec<u64> {
        self.parts.iter().map(|part| self.verb.named_cost(part.cost, part.spent)).collect()
    }

    /// The slot of a cluster that the first entry belongs to; those of one actor share it.
    pub(crate) fn slot(&self) -> u16 {
        self.entries.first().map_or(0, |key| slot(key))
    }

    /// The units that earlier checks of this decision take from the same entry, for each check.
    pub(super) fn priors(&self) -> InlineVec<u64> {
        priors(&self.parts, self.entries.len())
    }

    /// The units that each check charges or gives back, and how many of those were spent.
    fn takes(&self) -> InlineVec<(u64, u64)> {
        takes(&self.parts, self.entries.len(), self.verb)
    }
}

/// The arguments of one call of the script: any number of decisions, made in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptCall {
    /// The names of all entries, each once.
    pub(crate) keys: Vec<Key>,
    /// The only argument.
    pub(crate) blob: Vec<u8>,
}

impl ScriptCall {
    /// The call itself: of the script that the server knows, or with all of it.
    pub(crate) fn command(&self, with_script: bool) -> Cmd {
        let Self { keys, blob } = self;
        let mut command = Cmd::with_capacity(keys.len() + 4, blob.len() + keys.len() * 48 + 64);
        if with_script {
            command.arg("EVAL").arg(SOURCE);
        } else {
            command.arg("EVALSHA").arg(&*SHA);
        }
        command.arg(keys.len());
        for key in keys {
            command.arg(key.as_ref());
        }
        command.arg(&blob[..]);
        command
    }
}

/// Writes down decisions, each with the instant of the server's clock after which it must not be made any more; 0 =
/// there is none.
///
/// The blob is little-endian and has no gaps: whether the time has to be asked for (a byte), where the rules are (4
/// bytes), the decisions, and the rules. Every number that is not said to be smaller is a double.
pub(crate) fn encode<'a>(decisions: impl IntoIterator<Item = (&'a Decision, Micros)>) -> ScriptCall {
    let mut writer = Writer { blob: vec![0; 5], ..Writer::default() };
    for (decision, deadline) in decisions {
        writer.decision(decision, deadline);
    }
    let Writer { mut blob, keys, rules, asks_for_time } = writer;
    blob[0] = u8::from(asks_for_time);
    let rules_at = index(blob.len());
    blob[1..5].copy_from_slice(&rules_at);
    blob.extend(rules.as_slice().iter().flatten());
    if rules.len() == 0 {
        // A decision is read as if it had a check.
        blob.extend([0; CHECK]);
    }
    ScriptCall { keys: keys.into_list().into_vec(), blob }
}

/// A rule as it is written down: its algorithm (a byte), and the numbers of that.
type WrittenRule = [u8; RULE];
const RULE: usize = 1 + 6 * 8;
/// The first byte of a [`plain`] decision, in place of a verb.
const PLAIN: u8 = 7;
/// Bytes of a check.
const CHECK: usize = 2 * 4 + 3 * 8;

#[derive(Default)]
struct Writer {
    blob: Vec<u8>,
    keys: Distinct<Key>,
    rules: Distinct<WrittenRule>,
    asks_for_time: bool,
}

impl Writer {
    /// Encodes the verb (a byte) with its number, the number of checks (4 bytes), `now` (-1 = not given) and the
    /// deadline; then the checks. The checks of a reset are its keys.
    fn decision(&mut self, decision: &Decision, deadline: Micros) {
        let (asked, number) = match decision.verb {
            Verb::Reset => (0, 0),
            Verb::Limit => (1, 0),
            Verb::Peek => (2, 0),
            Verb::Charge => (3, 0),
            Verb::Refund => (4, 0),
            Verb::Undo { .. } => (5, 0),
            Verb::Acquire { max_wait } => (6, max_wait),
            Verb::Denied => (8, 0),
        };
        // Where an entry has two keys, the second one comes right after the first.
        let mut keys: InlineVec<usize> = InlineVec::new();
        let mut entries: InlineVec<usize> = InlineVec::new();
        for entry in &decision.entries {
            entries.push(keys.len());
            match decision.layout {
                Layout::Own => keys.push(self.keys.index_of(entry)),
                Layout::Sharkey => keys.extend(both(entry).iter().map(|key| self.keys.index_of(key))),
            }
        }
        self.asks_for_time |= deadline > 0 || (decision.now.is_none() && decision.verb != Verb::Reset);
        let deadline = if deadline > 0 { real(deadline) } else { f64::INFINITY };
        if let Some((rule, cost)) = plain(decision) {
            let rule = self.rules.index_of(&written(rule, decision.layout));
            return self.plain(rule, keys[0], cost, deadline);
        }
        let checks = if decision.verb == Verb::Reset { keys.len() } else { decision.parts.len() };
        self.blob.push(asked);
        self.blob.extend(index(checks));
        self.numbers([real(number), decision.instant(None).map_or(-1.0, real), deadline]);

        if decision.verb == Verb::Reset {
            for key in keys {
                self.check(0, key, [0.0; 3]);
            }
            return;
        }
        for ((part, prior), (cost, spent)) in decision.parts.iter().zip(decision.priors()).zip(decision.takes()) {
            let rule = self.rules.index_of(&written(&part.rule, decision.layout));
            let total = match decision.verb.of_charge(part.charged_at) {
                Verb::Undo { charged_at } => charged_at,
                _ => part.cost.saturating_add(prior),
            };
            self.check(rule, keys[entries[part.entry]], [real(cost), real(total), real(spent)]);
        }
    }

    /// The commonest call, in few numbers: that it is this (a byte), which key (counted from 1), which rule and the cost
    /// (4 bytes each), and the deadline.
    fn plain(&mut self, rule: usize, key: usize, cost: u32, deadline: f64) {
        self.blob.push(PLAIN);
        self.blob.extend(index(key + 1));
        self.blob.extend(index(rule));
        self.blob.extend(cost.to_le_bytes());
        self.blob.extend(deadline.to_le_bytes());
    }

    /// Encodes the rule and the key (4 bytes each, the key counted from 1), the cost, the cost with the units that
    /// earlier checks take from the same entry (of an undo, the instant of its charge), and the part of the cost that
    /// is not given back.
    fn check(&mut self, rule: usize, key: usize, numbers: [f64; 3]) {
        self.blob.extend(index(rule));
        self.blob.extend(index(key + 1));
        self.numbers(numbers);
    }

    fn numbers(&mut self, numbers: [f64; 3]) {
        self.blob.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
}

/// The rule and the cost of a `limit` by the server's clock with one check, of a level.
fn plain(decision: &Decision) -> Option<(&Rule, u32)> {
    match (&decision.parts[..], decision.verb, decision.now, decision.layout) {
        ([Part { rule: rule @ Rule::Level(_), cost, .. }], Verb::Limit, None, Layout::Own) => {
            Some((rule, u32::try_from(*cost).ok()?))
        }
        _ => None,
    }
}

fn index(index: usize) -> [u8; 4] {
    u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes()
}

fn written(rule: &Rule, layout: Layout) -> WrittenRule {
    let flag = |set| if set { 1.0 } else { 0.0 };
    let (algorithm, numbers) = match rule {
        Rule::Level(level) => {
            let [tick, drain, ticks] = [level.tick, level.drain, level.ticks].map(|number| real(number.get()));
            let algorithm = if layout == Layout::Sharkey { 7 } else { 1 };
            (algorithm, [tick, drain, ticks, flag(level.aligned), real(level.quota), real(level.most.min(EXACT))])
        }
        Rule::Counter(counter) => {
            let [period, tick, ticks] = [counter.period, counter.tick, counter.ticks].map(|number| real(number.get()));
            (2, [real(counter.max), period, tick, ticks, 0.0, 0.0])
        }
        Rule::Decay(decay) => {
            let resolution = real(decay.resolution.get());
            (3, [real(decay.max), decay.factor, resolution, flag(decay.counts_blocked), 0.0, 0.0])
        }
        Rule::Smooth(smooth) => {
            let [stable, most, threshold] = [smooth.stable, smooth.max_permits, smooth.threshold];
            (4, [stable, most, threshold, smooth.slope, smooth.cool, flag(smooth.warms_up)])
        }
        Rule::Slots(slots) => {
            let resolution = real(slots.resolution.get());
            (5, [real(slots.max), real(slots.period), resolution, flag(slots.counts_blocked), 0.0, 0.0])
        }
        Rule::Log(log) => {
            let interval = real(log.min_interval);
            (6, [real(log.max), real(log.period), interval, flag(log.counts_blocked), 0.0, 0.0])
        }
    };
    let mut written = [algorithm; RULE];
    for (place, number) in written[1..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    written
}
