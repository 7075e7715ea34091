//! Redis as a remote store.

use std::iter;
use std::sync::Arc;

use super::context::Context;
use super::protocol::encode::encode;
use super::protocol::keys;
use super::protocol::layout::Layout;
use super::settings::{Redis, Settings};
use super::topology::Topology;
use super::topology::scattered;
use super::upkeep::Upkeep;
use crate::algorithm::Shape;
use crate::clock;
use crate::decision::Verb;
use crate::error::LimitError;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::store::remote::{
    Backend, EntryName, Health, Job, Key, NamePart, Part, Request, Scan, Servers, Session, Work,
};
use crate::time::Micros;

impl Backend for Settings {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn url(&self) -> String {
        self.url.to_string()
    }

    fn identity(&self) -> String {
        format!("{:?} {} {:?}", self.url.servers, self.url.database, self.layout())
    }

    fn servers(&self) -> String {
        self.url.servers_shown()
    }

    fn connect(&self, session: Session) -> Arc<dyn Servers> {
        Arc::new(Topology::start(&self.address, &Arc::new(Context::new(self, session))))
    }

    fn ping(&self, session: Session, probes: [Request; 2]) -> Work<Health> {
        let upkeep = Upkeep::new(self, session);
        Box::pin(async move { upkeep.ping(&probes).await })
    }

    fn clear(&self, session: Session, namespace: &str) -> Work<u64> {
        let (upkeep, namespace) = (Upkeep::new(self, session), namespace.to_owned());
        Box::pin(async move { upkeep.clear(&namespace).await })
    }

    fn scan(&self, session: Session, namespace: &str, budget: u64) -> Option<Work<Scan>> {
        let (upkeep, namespace) = (Upkeep::new(self, session), namespace.to_owned());
        Some(Box::pin(async move { upkeep.scan(&namespace, budget).await }))
    }

    fn actor(&self, namespace: &str, limit: &str, key: &Key) -> Option<NamePart> {
        self.layout().actor(namespace, limit, key)
    }

    fn value(&self, session: Session, key: &str, most: u64) -> Work<Option<Vec<u8>>> {
        let (upkeep, key) = (Upkeep::new(self, session), key.to_owned());
        Box::pin(async move { upkeep.value(&key, most).await })
    }

    fn replace(&self, session: Session, key: &str, before: &[u8], after: &[u8]) -> Work<bool> {
        let upkeep = Upkeep::new(self, session);
        let (key, before, after) = (key.to_owned(), before.to_owned(), after.to_owned());
        Box::pin(async move { upkeep.replace(&key, &before, &after).await })
    }

    fn key(&self, name: EntryName<'_>) -> Key {
        self.layout().key(name)
    }

    fn shapes(&self) -> &[Shape] {
        self.layout().shapes()
    }

    fn keeps_blocks(&self) -> bool {
        self.layout() == Layout::Own
    }

    fn names_may_coincide(&self) -> bool {
        // Nothing is encoded there.
        self.layout() == Layout::Sharkey
    }

    fn resolution(&self) -> Micros {
        if self.layout() == Layout::Sharkey { 1000 } else { 1 }
    }

    fn admits(&self, limit: &Limit) -> Result<(), LimitError> {
        self.layout().admits(limit)
    }
}

impl Servers for Topology {
    fn send(self: Arc<Self>, job: Arc<Job>) -> Result<(), Failure> {
        if self.is_sharded() && keys::is_scattered(&job.request) {
            let context = self.context().clone();
            context.session.runtime().spawn(scattered::decide(self, job));
            return Ok(());
        }
        self.dispatch(job)
    }

    fn is_open(&self) -> bool {
        self.is_open()
    }

    fn is_unavailable(&self) -> bool {
        !self.is_sharded() && self.is_open()
    }

    fn is_dead(&self) -> bool {
        self.is_dead()
    }
}

/// The command that `limit` sends for this actor, but for its deadline: a benchmark sends it by other means.
#[must_use]
pub fn bare_command(store: &Redis, limit: &Limit, actor: &str) -> Option<Vec<Vec<u8>>> {
    let (settings, shared) = store.clone().into_parts();
    let (place, rule) = limit.compiled(1.0)?.placed().next()?;
    let key = settings.key(EntryName::new(shared.name(), actor, limit.key(), place.shape));
    let part = Part { rule: *rule, cost: 1, at_least: 0, spent: 0, charged_at: None, entry: 0, observed: None };
    let request = Request::new(Verb::Limit, iter::once(key).collect(), iter::once(part).collect(), None).ok()?;
    let command = encode([(&request, 0)], settings.layout(), clock::now()).command(false);
    let words = command.args_iter().filter_map(|word| match word {
        ::redis::Arg::Simple(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    Some(words.collect())
}
