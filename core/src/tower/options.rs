//! The options of a layer: functions that a program gives, and what they say of a request.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use http::{request, response};

use crate::config::Watched;
use crate::http::{Gate, Mistake, Trial, Warning};
use crate::limit::Limit;
use crate::limiter::Limiter;

pub(super) type Parts = request::Parts;
type Function<T> = Arc<dyn Fn(&Parts) -> T + Send + Sync>;
type Judge = Arc<dyn Fn(&response::Parts) -> bool + Send + Sync>;
type Listener = Arc<dyn Fn(&Trial) + Send + Sync>;
type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Everything that a layer was given.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) limiter: Limiter,
    pub(super) limits: Arc<[Limit]>,
    pub(super) candidates: Arc<[Limit]>,
    pub(super) gate: Arc<Gate>,
    pub(super) is_shadow: bool,
    pub(super) peer: Function<Option<IpAddr>>,
    pub(super) key: Option<Function<Option<String>>>,
    pub(super) cost: Option<Function<u64>>,
    pub(super) factor: Option<Function<f64>>,
    pub(super) skip: Option<Function<bool>>,
    pub(super) watched: Option<Watched>,
    pub(super) limits_of: Option<Function<Later<Vec<Limit>>>>,
    pub(super) charge_on: Option<Judge>,
    pub(super) on_trial: Option<Listener>,
}

impl Options {
    pub(super) fn new(limiter: Limiter, limits: Arc<[Limit]>) -> Self {
        Self {
            limiter,
            limits,
            candidates: Arc::new([]),
            gate: Arc::new(Gate::new()),
            is_shadow: false,
            peer: Arc::new(known_peer),
            key: None,
            cost: None,
            factor: None,
            skip: None,
            watched: None,
            limits_of: None,
            charge_on: None,
            on_trial: None,
        }
    }
}

impl Options {
    /// Tells of limits whose key another layer has given to other ones.
    pub(super) fn define(&self) {
        for limit in self.limits.iter().chain(&*self.candidates) {
            if let Some(both) = self.limiter.define(limit) {
                self.gate.report(Mistake::SameKeyTwice, &both).iter().for_each(tell);
            }
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limits, candidates, gate, is_shadow, .. } = self;
        let mut shown = formatter.debug_struct("RateLimitLayer");
        shown.field("limits", limits).field("candidates", candidates).field("gate", gate).field("shadow", is_shadow);
        shown.finish_non_exhaustive()
    }
}

/// The peer where a server has put it among the extensions as it is.
fn known_peer(parts: &Parts) -> Option<IpAddr> {
    let known = parts.extensions.get::<SocketAddr>().map(SocketAddr::ip);
    known.or_else(|| parts.extensions.get::<IpAddr>().copied())
}

pub(super) fn tell(warning: &Warning) {
    tracing::warn!(code = warning.mistake.code(), "{}", warning.text);
}
