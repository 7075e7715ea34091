//! The entries that one request is charged to, by all decisions about it.

use crate::check::Check;
use crate::fingerprint::{EntriesId, Fingerprint};
use crate::info::LimitInfo;

/// The entries that decisions about one request have charged, which tell of a limit that two of them charge for one actor.
///
/// Such a pair is a [mistake](crate::http::Mistake::CountedTwice), as of a middleware that is installed twice. A denied
/// call, a check without a cost, one that nothing limits, and one in shadow mode charge nothing that counts here.
///
/// ```
/// use tidegate::http::Counted;
/// use tidegate::{Call, Check, Limit, Limiter, Memory};
///
/// let (limiter, api) = (Limiter::new(Memory::new()), Limit::bucket("api", 100).build()?);
/// let checks = [Check::new(&api, "ada")];
/// let info = limiter.decide_sync(&checks, Call::Limit)?;
///
/// let mut counted = Counted::default();
/// assert_eq!(counted.note(limiter.entries_id(), &checks, &info), None);
/// assert_eq!(counted.note(limiter.entries_id(), &checks, &info), Some("api"));
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counted(Vec<(EntriesId, Fingerprint)>);

impl Counted {
    /// Notes what a call has charged: by the [identity](crate::Limiter::entries_id) of its limiter's entries, its checks,
    /// and its answer. Returns the key of a limit that an earlier call has charged for the same actor.
    pub fn note<'a>(&mut self, of: EntriesId, checks: &[Check<'a>], info: &LimitInfo) -> Option<&'a str> {
        if info.blocked {
            return None;
        }
        let before = self.0.len();
        let mut twice = None;
        for check in checks.iter().filter(|check| !check.observed && check.cost > 0 && check.factor > 0.0) {
            let entry = (of, check.limit.fingerprint() ^ Fingerprint::of_actor(check.actor));
            if self.0[..before].contains(&entry) {
                twice = Some(check.key());
            }
            self.0.push(entry);
        }
        twice
    }
}
