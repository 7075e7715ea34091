//! Units of limits of type concurrency, which a request holds until its response has ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock;
use crate::hold::Lease;
use crate::http::{Paid, Plan};
use crate::receipt::Receipt;
use http_body::{Body, Frame, SizeHint};

/// The units that a request holds in limits of type concurrency: among the extensions of a request that holds any.
///
/// They are released when the response has ended, its service has failed, or its client is gone. A clone that is kept
/// for longer holds them until it is dropped. So a handler whose work begins with its response moves one into that work,
/// such as a websocket:
///
/// ```
/// use axum::Extension;
/// use axum::response::Response;
/// use tidegate::tower::Held;
/// # struct WebSocketUpgrade;
/// # impl WebSocketUpgrade {
/// #     fn on_upgrade<F: Future<Output = ()>>(self, _talk: impl FnOnce(()) -> F) -> Response { Response::default() }
/// # }
///
/// async fn connect(upgrade: WebSocketUpgrade, Extension(held): Extension<Held>) -> Response {
///     upgrade.on_upgrade(|socket| async move {
///         // … until the socket is closed
///         drop((socket, held));
///     })
/// }
/// # let _ = connect;
/// ```
#[derive(Clone, Debug)]
pub struct Held(Vec<Arc<Hold>>);

impl Held {
    /// These units, and those that layers around this one hold.
    pub(super) fn with(outer: Option<&Self>, hold: &Arc<Hold>) -> Self {
        let outer = outer.map_or(&[][..], |outer| &outer.0);
        Self(outer.iter().chain([hold]).cloned().collect())
    }
}

/// The units of one decision, which are released and settled when the last part of the response lets go of this.
#[derive(Debug)]
pub(super) struct Hold {
    lease: Arc<Lease>,
    plan: Plan,
}

impl Hold {
    /// Holds what the call of this receipt has just taken.
    pub(super) fn begin(receipt: Receipt, plan: Plan, length: Duration) -> Arc<Self> {
        let hold = Self { lease: Lease::begin(receipt, length, clock::now()), plan };
        hold.pay(Paid::AsAsked);
        Arc::new(hold)
    }

    /// Gives back everything that was charged, at the end.
    pub(super) fn give_back(&self) {
        self.pay(Paid::Units(0));
    }

    fn pay(&self, paid: Paid) {
        self.lease.note(self.plan.costs(|_| paid));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.lease.end_soon();
    }
}

/// The body of a response, which holds the units of its request until it has ended or is dropped.
#[derive(Debug)]
pub struct ResponseBody<B> {
    inner: B,
    hold: Option<Arc<Hold>>,
}

impl<B> ResponseBody<B> {
    pub(super) fn new(inner: B, hold: Option<Arc<Hold>>) -> Self {
        Self { inner, hold }
    }
}

/// The body of a refusal by a layer around this one.
impl<B: From<String>> From<String> for ResponseBody<B> {
    fn from(text: String) -> Self {
        Self::new(B::from(text), None)
    }
}

/// The body of a response that another layer makes without one.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::new(B::default(), None)
    }
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        // A client that has read the response finds it released.
        if self.hold.is_some() && (matches!(polled, Poll::Ready(None | Some(Err(_)))) || self.inner.is_end_stream()) {
            self.hold = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
