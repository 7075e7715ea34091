//! The deny caches of one process over the same store, which forget together.
//!
//! No lock, as a child may be forked off meanwhile; and a child has siblings of its own, as a thread of its parent may
//! have held a lock of a cache.

use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::deny_cache::DenyCache;
use crate::fingerprint::Fingerprint;
use crate::fork::Process;

/// The caches of one store.
pub(super) struct Siblings {
    store: String,
    process: Process,
    caches: ArcSwap<Vec<Weak<DenyCache>>>,
}

static ALL: ArcSwapOption<Vec<Weak<Siblings>>> = ArcSwapOption::const_empty();

impl Siblings {
    /// Those of this store in this process, with this cache as one more.
    pub(super) fn join(store: &str, cache: &Arc<DenyCache>) -> Arc<Self> {
        let siblings = Self::of(store);
        siblings.caches.rcu(|caches| {
            let alive = caches.iter().filter(|cache| cache.strong_count() > 0).cloned();
            alive.chain([Arc::downgrade(cache)]).collect::<Vec<_>>()
        });
        siblings
    }

    fn of(store: &str) -> Arc<Self> {
        let process = Process::current();
        loop {
            let known = ALL.load_full();
            let alive: Vec<Arc<Self>> = known.iter().flat_map(|all| all.iter()).filter_map(Weak::upgrade).collect();
            if let Some(siblings) = alive.iter().find(|one| one.store == store && one.process == process) {
                return siblings.clone();
            }
            let fresh = Arc::new(Self { store: store.to_owned(), process, caches: ArcSwap::default() });
            let all = alive.iter().chain([&fresh]).map(Arc::downgrade).collect();
            let before = ALL.compare_and_swap(&known, Some(Arc::new(all)));
            if before.as_ref().map(Arc::as_ptr) == known.as_ref().map(Arc::as_ptr) {
                return fresh;
            }
        }
    }

    /// Something may have been given back to this entry.
    pub(super) fn forget(&self, entry: Fingerprint) {
        self.each(|cache| cache.forget(entry));
    }

    /// Everything may have been given back.
    pub(super) fn clear(&self) {
        self.each(DenyCache::clear);
    }

    fn each(&self, does: impl Fn(&DenyCache)) {
        self.caches.load().iter().filter_map(Weak::upgrade).for_each(|cache| does(&cache));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn those_of_one_store_are_found_by_all_who_look_for_them_and_go_with_the_last() {
        let cache = || Arc::new(DenyCache::new(Duration::from_secs(1)));
        let joined: Vec<_> = thread::scope(|scope| {
            let join = |_| {
                scope.spawn(|| {
                    let cache = cache();
                    (Siblings::join("the same", &cache), cache)
                })
            };
            (0..8).map(join).collect::<Vec<_>>().into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(joined.iter().all(|(siblings, _)| Arc::ptr_eq(siblings, &joined[0].0)));
        assert_eq!(joined[0].0.caches.load().len(), 8);
        let other = cache();
        assert!(!Arc::ptr_eq(&Siblings::join("another", &other), &joined[0].0));

        let before = Arc::downgrade(&joined[0].0);
        let one = joined.into_iter().next().expect("one of them");
        let next = cache();
        assert_eq!(Siblings::join("the same", &next).caches.load().len(), 2, "the others are gone");
        drop(one);
        assert!(before.upgrade().is_none());
    }
}
