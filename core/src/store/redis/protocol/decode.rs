//! Replies of the script, decoded.

use redis::Value;

use crate::algorithm::{Entry, Numbers, whole};
use crate::decision::{Impossible, Resolved, Verb, Verdict};
use crate::inline_vec::InlineVec;
use crate::store::remote::{Infos, Part, Reply, Request};
use crate::time::{EXACT, Micros};

/// The script cannot have answered this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Reads what the script answered to these decisions: the server's time, if it was asked for, and what came of each.
///
/// The answer is little-endian and has no gaps: the time, a double as every number here that is not said to be
/// smaller, or -1; then what came of each decision.
pub(crate) fn decode<'a>(
    reply: &Value,
    requests: impl IntoIterator<Item = &'a Request>,
) -> Result<(Option<Micros>, Vec<Reply>), Malformed> {
    crate::panics::point("decode");
    let Value::BulkString(bytes) = reply else { return Err(Malformed) };
    let mut reader = Reader(bytes);
    let time = reader.number()?;
    let server = if time < 0.0 { None } else { Some(integer(time)?) };
    if let (Some(now), [OUTSIDE]) = (server, reader.0) {
        return Ok((server, requests.into_iter().map(|_| Reply::Late { now }).collect()));
    }
    let outcomes = requests.into_iter().map(|request| reader.outcome(request, server)).collect::<Result<_, _>>()?;
    if reader.0.is_empty() { Ok((server, outcomes)) } else { Err(Malformed) }
}

/// The first byte of what came of a decision, unless it was made: then it is that of the first check.
const LATE: u8 = 255;
/// The whole answer: the rules do not hold for the time that the server's clock shows, so nothing has been done.
const OUTSIDE: u8 = 253;
const OVERFLOWS: u8 = 254;
/// The flags that the first byte of a check is the sum of.
const FITS: u8 = 1;
const CORRUPT: u8 = 2;
const MENDED: u8 = 4;

struct Reader<'a>(&'a [u8]);

/// A check as the server left it.
struct Checked {
    entry: Entry,
    verdict: Verdict,
}

impl Reader<'_> {
    fn outcome(&mut self, request: &Request, server: Option<Micros>) -> Result<Reply, Malformed> {
        if request.verb == Verb::Reset {
            return self.resetting(request, server);
        }
        if let Some(each) = request.apart() {
            let replies = each.into_iter().map(|(members, one)| Ok((members, self.outcome(&one, server)?)));
            return Ok(request.gathered(replies.collect::<Result<_, _>>()?, server));
        }
        let now = request.instant(server);
        let mut checked: InlineVec<Checked> = InlineVec::new();
        let (mut corrupt, mut repaired) = (0, false);
        for (index, part) in request.parts.iter().enumerate() {
            let first = self.byte()?;
            if index == 0 && first >= OVERFLOWS {
                return self.undecided(first, request, server);
            }
            corrupt += u32::from(first & CORRUPT != 0);
            repaired |= first & MENDED != 0;
            let verdict = Verdict::of(first & FITS != 0, self.wait()?);
            checked.push(Checked { entry: part.rule.entry_of(self).ok_or(Malformed)?, verdict });
        }
        if request.parts.is_empty() {
            let first = self.byte()?;
            if first >= OVERFLOWS {
                return self.undecided(first, request, server);
            }
        }
        let now = now.ok_or(Malformed)?;
        let units = if request.at_least() > 0 { Some(self.integer()?) } else { None };
        let (infos, reset) = answers(request, now, checked, units);
        Ok(Reply::Decided { now, infos, corrupt, repaired, reset })
    }

    fn resetting(&mut self, request: &Request, server: Option<Micros>) -> Result<Reply, Malformed> {
        match (self.byte()?, server) {
            (LATE, Some(now)) => Ok(Reply::Late { now }),
            (FITS, now) => Ok(request.emptied(now)),
            _ => Err(Malformed),
        }
    }

    fn undecided(&mut self, why: u8, request: &Request, server: Option<Micros>) -> Result<Reply, Malformed> {
        if why == LATE {
            return Ok(Reply::Late { now: server.ok_or(Malformed)? });
        }
        let index = usize::try_from(self.integer()?).ok().and_then(|index| index.checked_sub(1)).ok_or(Malformed)?;
        if index < request.parts.len() { Ok(Reply::Impossible(index, Impossible::Overflows)) } else { Err(Malformed) }
    }

    /// A wait that is too long to be exact is only ever compared with shorter ones.
    fn wait(&mut self) -> Result<Micros, Malformed> {
        let wait = self.number()?;
        if wait >= 0.0 { Ok(whole(wait)) } else { Err(Malformed) }
    }

    fn integer(&mut self) -> Result<u64, Malformed> {
        integer(self.number()?)
    }

    fn number(&mut self) -> Result<f64, Malformed> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(f64::from_le_bytes(*number))
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (byte, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*byte)
    }
}

/// The state in which the call left an entry.
impl Numbers for Reader<'_> {
    fn integer(&mut self) -> Option<u64> {
        Reader::integer(self).ok()
    }

    fn amount(&mut self) -> Option<f64> {
        self.number().ok().filter(|amount| (0.0..=EXACT as f64).contains(amount))
    }

    /// Those that an answer can depend on: how many they are (a byte), and of each its instant and how many units that
    /// still count came up to it.
    fn runs(&mut self) -> Option<Vec<(u64, u64)>> {
        let count = self.byte().ok()?;
        (0..count).map(|_| Some((Numbers::integer(self)?, Numbers::integer(self)?))).collect()
    }
}

fn integer(number: f64) -> Result<u64, Malformed> {
    let is_one = number >= 0.0 && number.fract() == 0.0 && number <= (EXACT as f64) * 2.0;
    if is_one { Ok(whole(number)) } else { Err(Malformed) }
}

/// The results of the engine for entries in this state, and the instant until which it denies what it denied.
/// Each check was of so many `units`, where that was left to the script.
fn answers(request: &Request, now: Micros, checked: InlineVec<Checked>, units: Option<u64>) -> (Infos, Micros) {
    let admitted = request.verb != Verb::Denied && checked.iter().all(|check| check.verdict.fits);
    let (mut infos, mut reset) = (Infos::new(), 0);
    // The check before, which a block stands beside.
    let mut before: Option<(&Part, Checked, Resolved)> = None;
    let mut checked = checked.into_iter().peekable();
    let mut parts = request.parts.iter().zip(request.priors()).peekable();
    while let (Some((part, prior)), Some(mut check)) = (parts.next(), checked.next()) {
        let cost = units.unwrap_or(part.cost);
        let is_beside = parts.peek().is_some_and(|(next, _)| next.block().is_some());
        let closed = is_beside && checked.peek().is_some_and(|block| !block.verdict.fits);
        let resolved = Resolved { verdict: check.verdict, admitted, cost, prior, closed };
        if !check.verdict.fits || part.block().is_some() {
            reset = reset.max(part.rule.until(&mut check.entry, now, cost.saturating_add(prior)));
        }
        let info = part.rule.answer(&mut check.entry, now, request.verb, resolved);
        if let (Some(_), Some((limit, mut entry, resolved)), Some(info)) =
            (part.block(), before.take(), infos.last_mut())
        {
            let limit = (&limit.rule, &mut entry.entry);
            info.beside_block(limit, (&part.rule, &mut check.entry), now, request.verb, resolved);
        }
        infos.push(info);
        before = Some((part, check, resolved));
    }
    (infos, reset)
}
