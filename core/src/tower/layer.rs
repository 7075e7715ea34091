//! The layer: limits, and the options that go with them.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use http::{request, response};
use tower_layer::Layer;

use super::options::Options;
use super::service::RateLimit;
use crate::config::Watched;
use crate::http::{CANDIDATE, Gate, Trial};
use crate::limit::Limit;
use crate::limiter::Limiter;

/// A layer that limits requests: a denied one is answered with status 429, or with `RESOURCE_EXHAUSTED` where it is one of
/// gRPC, and never reaches the service.
///
/// All limits of a layer are one decision: either each of them is charged, or none. Layers around each other decide one
/// after the other. The outermost one writes the headers of all of them in its style; those of a layer whose gate has the
/// style [`None`](crate::headers::Style::None) are written by nobody. A handler finds the result as a
/// [`LimitInfo`](crate::LimitInfo) among the extensions of its request.
///
/// The actor is the address of the client, which the layer asks [`peer`](Self::peer) for, unless a
/// [`key`](Self::key) is given.
#[derive(Clone, Debug)]
pub struct RateLimitLayer(Arc<Options>);

impl RateLimitLayer {
    /// A layer of these limits, each of which has every client once.
    #[must_use]
    pub fn new(limiter: Limiter, limits: impl IntoIterator<Item = Limit>) -> Self {
        Self(Arc::new(Options::new(limiter, limits.into_iter().collect())))
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Arc::unwrap_or_clone(self.0);
        change(&mut options);
        Self(Arc::new(options))
    }

    /// Sets the gate: trusted proxies, the style of the headers, the status and the body of a refusal.
    #[must_use]
    pub fn gate(self, gate: Gate) -> Self {
        self.with(|options| options.gate = Arc::new(gate))
    }

    /// Sets how the address of a request's peer is known; by default it is a `SocketAddr` or an `IpAddr` among the
    /// extensions. Of axum:
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use axum::extract::ConnectInfo;
    /// # use tidegate::{Limit, Limiter, Memory, tower::RateLimitLayer};
    /// # let layer = RateLimitLayer::new(Limiter::new(Memory::new()), [Limit::bucket("api", 9).build()?]);
    ///
    /// let layer = layer.peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()));
    /// # drop(layer);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    #[must_use]
    pub fn peer(self, peer: impl Fn(&request::Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|options| options.peer = Arc::new(peer))
    }

    /// Sets the actor; `None` or an empty text stands for the client's address. A client may have chosen it: see
    /// [`key_of`](crate::http::key_of).
    #[must_use]
    pub fn key(self, key: impl Fn(&request::Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|options| options.key = Some(Arc::new(key)))
    }

    /// Sets the units that a request takes; 1 unless set. More than a limit ever admits is answered with 413.
    #[must_use]
    pub fn cost(self, cost: impl Fn(&request::Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.with(|options| options.cost = Some(Arc::new(cost)))
    }

    /// Sets the scale of the limits: 0.5 = twice the allowance, 2 = half of it, 0 = no limit.
    #[must_use]
    pub fn factor(self, factor: impl Fn(&request::Parts) -> f64 + Send + Sync + 'static) -> Self {
        self.with(|options| options.factor = Some(Arc::new(factor)))
    }

    /// Sets which requests are not limited.
    #[must_use]
    pub fn skip(self, skip: impl Fn(&request::Parts) -> bool + Send + Sync + 'static) -> Self {
        self.with(|options| options.skip = Some(Arc::new(skip)))
    }

    /// Sets the limits to those of a document, all or [some](Watched::select), in place of those that the layer was made with.
    /// Each request has those that hold when it comes, with the override of its actor; without any it is not limited.
    ///
    /// ```
    /// # #[cfg(feature = "toml")] {
    /// use tidegate::config::Limits;
    /// use tidegate::tower::RateLimitLayer;
    /// use tidegate::{Limiter, Memory};
    ///
    /// # let path = std::env::temp_dir().join(format!("layer-{}.toml", std::process::id()));
    /// std::fs::write(&path, "api = '100/minute'\noverrides = [{ actor = 'acme', factor = 0.1 }]")?;
    /// let limits = Limits::watch(&path)?;
    /// let layer = RateLimitLayer::new(Limiter::new(Memory::new()), []).watched(limits.select(["api"])?);
    /// # drop(layer);
    /// # std::fs::remove_file(&path)?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn watched(self, limits: Watched) -> Self {
        self.with(|options| options.watched = Some(limits))
    }

    /// Sets the limits of each request, such as those of a customer's plan; without any it is not limited.
    #[must_use]
    pub fn limits_of<F>(self, limits: impl Fn(&request::Parts) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<Limit>> + Send + 'static,
    {
        self.with(|options| options.limits_of = Some(Arc::new(move |parts| Box::pin(limits(parts)))))
    }

    /// Sets the responses that are charged; any other gives the charge back.
    #[must_use]
    pub fn charge_on(self, is_charged: impl Fn(&response::Parts) -> bool + Send + Sync + 'static) -> Self {
        self.with(|options| options.charge_on = Some(Arc::new(is_charged)))
    }

    /// Puts the limits into shadow mode: they are decided and charged, and deny nobody.
    #[must_use]
    pub fn shadow(self, is_shadow: bool) -> Self {
        self.with(|options| options.is_shadow = is_shadow)
    }

    /// Sets limits that might replace these, decided beside them and never enforced. Each has ` candidate` behind its key, and
    /// so entries of its own.
    #[must_use]
    pub fn candidate(self, limits: impl IntoIterator<Item = Limit>) -> Self {
        self.with(|options| options.candidates = limits.into_iter().map(apart).collect())
    }

    /// Sets what is told of limits in shadow mode and of candidates.
    #[must_use]
    pub fn on_trial(self, tell: impl Fn(&Trial) + Send + Sync + 'static) -> Self {
        self.with(|options| options.on_trial = Some(Arc::new(tell)))
    }
}

/// The limit under another key; one that is too long for that keeps its own.
fn apart(limit: Limit) -> Limit {
    Limit::new(format!("{}{CANDIDATE}", limit.key()), limit.kind().clone()).unwrap_or(limit)
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        self.0.define();
        RateLimit::new(inner, Arc::clone(&self.0))
    }
}
