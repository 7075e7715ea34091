//! The fewest calls, each as early as it is admitted, on which two definitions disagree.

use crate::check::Check;
use crate::command::output::Failure;
use crate::command::words::{Step, calls_shown};
use crate::decision::Call;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::Micros;

/// More calls than this nobody tries out.
const MOST: u64 = 20_000;
/// Eleven seconds and a ninth after a quarter to midnight, so that no window of the clock begins or ends at once.
const BASE: Micros = 1_704_067_200_000_000 + 85_511_111_111;

/// The sentence on these two; none if they agree for long.
pub(super) fn sentence(limits: [&Limit; 2]) -> Result<Option<String>, Failure> {
    let limiter = Limiter::new(Memory::with_max_entries(1000));
    let decide = |limit: &Limit, call: Call, at: Micros| {
        let info = limiter.decide_sync_at(&[Check::new(limit, "client")], call, at);
        info.map_err(|error| Failure::Told(error.to_string()))
    };
    let (mut now, mut steps) = (BASE, Vec::<Step>::new());
    for _ in 0..MOST {
        let [one, other] = limits;
        let (of_one, of_other) = (decide(one, Call::Peek, now)?, decide(other, Call::Peek, now)?);
        if of_one.blocked && of_other.blocked {
            now += of_one.reset_ms.min(of_other.reset_ms).max(1) * 1000;
            continue;
        }
        let at = (now - BASE) / 1000;
        match steps.last_mut() {
            Some((last, count)) if *last == at => *count += 1,
            _ => steps.push((at, 1)),
        }
        if of_one.blocked != of_other.blocked {
            let (admits, denies) = if of_one.blocked { (other, one) } else { (one, other) };
            return Ok(Some(format!(
                "{}: the last is accepted by {}, refused by {}.",
                calls_shown(&steps),
                admits.key(),
                denies.key()
            )));
        }
        decide(one, Call::Charge, now)?;
        decide(other, Call::Charge, now)?;
    }
    Ok(None)
}
