//! Calls of the script: decisions, encoded as the script reads them.

use redis::Cmd;

use super::keys::both;
use super::layout::Layout;
use super::script::{SHA, SOURCE};
use crate::algorithm::{Rule, real};
use crate::decision::Verb;
use crate::distinct::Distinct;
use crate::inline_vec::InlineVec;
use crate::store::remote::{Key, Part, Request};
use crate::time::Micros;

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
/// The blob is little-endian and has no gaps: whether the time has to be asked for (a byte: 2 if the rules hold only for
/// some of it), where the rules are (4 bytes), the instants for which the rules hold, the decisions, and the rules. Every
/// number that is not said to be smaller is a double.
///
/// `now` is about the time that the server's clock will show.
pub(crate) fn encode<'a>(
    requests: impl IntoIterator<Item = (&'a Request, Micros)>,
    layout: Layout,
    now: Micros,
) -> ScriptCall {
    crate::panics::point("encode");
    let mut writer = Writer { blob: vec![0; HEAD], layout, now, ..Writer::default() };
    for (request, deadline) in requests {
        writer.request(request, deadline);
    }
    let Writer { mut blob, keys, rules, asks_for_time, holds, .. } = writer;
    blob[0] = u8::from(asks_for_time);
    if let Some([from, to]) = holds {
        blob[0] = 2;
        blob.splice(HEAD..HEAD, [real(from), real(to)].into_iter().flat_map(f64::to_le_bytes));
    }
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
/// Bytes before the decisions.
const HEAD: usize = 1 + 4;
const RULE: usize = 1 + 6 * 8;
/// The number of the algorithm for levels in the layout of that name, which has no other entries.
const SHARKEY: u8 = 0;
/// The first byte of a [`plain`] decision, in place of a verb.
const PLAIN: u8 = 7;
/// Added to the verb of a decision that is made only if those before it could be.
const FOLLOWS: u8 = 16;
/// Bytes of a check.
const CHECK: usize = 2 * 4 + 3 * 8;

#[derive(Default)]
struct Writer {
    blob: Vec<u8>,
    keys: Distinct<Key>,
    rules: Distinct<WrittenRule>,
    layout: Layout,
    now: Micros,
    asks_for_time: bool,
    /// The instants of the server's clock for which the rules hold, where that is not always.
    holds: Option<[Micros; 2]>,
}

impl Writer {
    /// Encodes the verb (a byte) with its number, the number of checks (4 bytes), `now` (-1 = not given) and the
    /// deadline; then the checks. The checks of a reset are its keys.
    ///
    /// Observed checks are decisions of their own, after that of the others. None of them is made where that one cannot
    /// be.
    fn request(&mut self, request: &Request, deadline: Micros) {
        let Some(each) = request.apart() else { return self.decision(request, deadline, 0) };
        let mut follows = 0;
        for (members, one) in &each {
            self.decision(one, deadline, follows);
            let is_enforced = members.iter().all(|index| request.parts[*index].observed.is_none());
            if is_enforced && one.may_overflow() {
                follows = FOLLOWS;
            }
        }
    }

    /// Encodes one decision; `follows` is [`FOLLOWS`] or nothing.
    fn decision(&mut self, request: &Request, deadline: Micros, follows: u8) {
        let (asked, number) = match request.verb {
            Verb::Reset => (0, 0),
            Verb::Limit => (1, request.at_least()),
            Verb::Peek => (2, request.at_least()),
            Verb::Charge => (3, 0),
            Verb::Refund => (4, 0),
            Verb::Undo { .. } => (5, 0),
            Verb::Acquire { max_wait } => (6, max_wait),
            Verb::Denied => (8, request.at_least()),
            Verb::Observe { retry_after } => (9, retry_after),
            Verb::Renew { .. } => (10, 0),
            Verb::Block { time } => (11, time),
        };
        // Where an entry has two keys, the second one comes right after the first.
        let mut keys: InlineVec<usize> = InlineVec::new();
        let mut entries: InlineVec<usize> = InlineVec::new();
        for entry in &request.entries {
            entries.push(keys.len());
            match self.layout {
                Layout::Own => keys.push(self.keys.index_of(entry)),
                Layout::Sharkey => keys.extend(both(entry).iter().map(|key| self.keys.index_of(key))),
            }
        }
        self.asks_for_time |= deadline > 0 || (request.now.is_none() && request.verb != Verb::Reset);
        let deadline = if deadline > 0 { real(deadline) } else { f64::INFINITY };
        if let Some((rule, cost)) = plain(request, self.layout).filter(|_| follows == 0) {
            let rule = self.rule(rule, request);
            return self.plain(rule, keys[0], cost, deadline);
        }
        let checks = if request.verb == Verb::Reset { keys.len() } else { request.parts.len() };
        self.blob.push(asked + follows);
        self.blob.extend(index(checks));
        self.numbers([real(number), request.instant(None).map_or(-1.0, real), deadline]);

        if request.verb == Verb::Reset {
            for key in keys {
                self.check(0, key, [0.0; 3]);
            }
            return;
        }
        for ((part, prior), (cost, spent)) in request.parts.iter().zip(request.priors()).zip(request.takes()) {
            let rule = self.rule(&part.rule, request);
            let total = match request.verb.of_charge(part.charged_at) {
                Verb::Undo { charged_at } | Verb::Renew { charged_at } => charged_at,
                _ => part.cost.saturating_add(prior),
            };
            self.check(rule, keys[entries[part.entry]], [real(cost), real(total), real(spent)]);
        }
    }

    /// The index of a rule, which is written down once.
    fn rule(&mut self, rule: &Rule, request: &Request) -> usize {
        let (kind, numbers, holds) = rule.twin_at(request.instant(None).unwrap_or(self.now));
        if let (Some([from, to]), None) = (holds, request.now) {
            let [first, last] = self.holds.unwrap_or([from, to]);
            self.holds = Some([first.max(from), last.min(to)]);
        }
        self.rules.index_of(&written(kind, numbers, self.layout))
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
    /// earlier checks take from the same entry (of an undo or a renewal, the instant of its charge), and the part of the cost that
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
fn plain(request: &Request, layout: Layout) -> Option<(&Rule, u32)> {
    match (&request.parts[..], request.verb, request.now, layout) {
        ([Part { rule: rule @ Rule::Level(_), cost, at_least: 0, .. }], Verb::Limit, None, Layout::Own) => {
            Some((rule, u32::try_from(*cost).ok()?))
        }
        _ => None,
    }
}

fn index(index: usize) -> [u8; 4] {
    u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes()
}

fn written(kind: u8, numbers: [f64; 6], layout: Layout) -> WrittenRule {
    let algorithm = if layout == Layout::Sharkey { SHARKEY } else { kind };
    let mut written = [algorithm; RULE];
    for (place, number) in written[1..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    written
}
