//! The entries that a request is charged to, by all layers around a service.

use crate::check::Check;
use crate::fingerprint::Fingerprint;
use crate::limiter::Limiter;
use crate::limiter::queue::WaitQueue;

/// The entries that layers have charged a request to: among its extensions, for layers inside.
#[derive(Clone, Debug)]
pub(super) struct Counted(Vec<(StoreId, Fingerprint)>);

/// The address of what the limiters of one store share; their layers keep it for as long as the request is served.
type StoreId = usize;

impl Counted {
    /// These entries and those of a layer inside; with the key of a limit that has counted the same actor before.
    pub(super) fn with<'a>(outer: Option<&Self>, limiter: &Limiter, checks: &[Check<'a>]) -> (Self, Option<&'a str>) {
        let outer = outer.map_or(&[][..], |outer| &outer.0);
        let mut entries = outer.to_vec();
        let mut twice = None;
        let store = std::ptr::from_ref::<WaitQueue>(limiter.queue()).addr();
        for check in checks.iter().filter(|check| !check.observed && check.cost > 0 && check.factor > 0.0) {
            let entry = (store, limiter.fingerprint(check.limit, check.actor));
            if outer.contains(&entry) {
                twice = Some(check.key());
            }
            entries.push(entry);
        }
        (Self(entries), twice)
    }
}
