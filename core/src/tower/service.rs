//! The service: one decision for each request, before the service inside is called.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{ACCEPT, HeaderValue};
use http::{Request, Response, StatusCode};
use tower_service::Service;

use super::answers::{Answers, DeniedInside, failed, refused};
use super::grpc;
use super::held::{Held, Hold, ResponseBody};
use super::options::{Options, Parts, tell};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::http::{Asked, Counted, Mistake, Paid, Plan, Refusal, RequestError, Role, key_of};
use crate::info::LimitInfo;
use crate::receipt::Receipt;

/// A service behind limits: see [`RateLimitLayer`](super::RateLimitLayer).
#[derive(Clone, Debug)]
pub struct RateLimit<S> {
    inner: S,
    options: Arc<Options>,
}

impl<S> RateLimit<S> {
    pub(super) fn new(inner: S, options: Arc<Options>) -> Self {
        Self { inner, options }
    }
}

/// The response of a [`RateLimit`], in the making.
pub type ResponseFuture<B, E> = Pin<Box<dyn Future<Output = Result<Response<ResponseBody<B>>, E>> + Send>>;

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
    R: From<String> + Send + 'static,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<R, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready is called; its clone may not be yet.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let options = Arc::clone(&self.options);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let is_grpc = grpc::is_asked(&parts.headers);
            let respond = |response| {
                let response = if is_grpc { grpc::response(response) } else { response };
                response.map(|body| ResponseBody::new(R::from(body), None))
            };
            let decision = match options.decide(&parts).await {
                Err(Denied::Refused(refusal)) => return Ok(respond(refused(refusal).0)),
                Err(Denied::Failed(status)) => return Ok(respond(failed(status))),
                Ok(None) => {
                    let response = inner.call(Request::from_parts(parts, body)).await?;
                    return Ok(response.map(|body| ResponseBody::new(body, None)));
                }
                Ok(Some(decision)) => decision,
            };
            let Decision { info, answers, charge, counted } = decision;
            if info.as_ref().is_some_and(|info| info.blocked) {
                return Ok(respond(answers.refuse(&options.gate, &accepted(&parts))));
            }
            if let Some(info) = info {
                parts.extensions.insert(info);
                parts.extensions.insert(counted);
            }
            if let Charge::Held(hold) = &charge {
                let held = Held::with(parts.extensions.get(), hold);
                parts.extensions.insert(held);
            }
            let (parts, body) = inner.call(Request::from_parts(parts, body)).await?.into_parts();
            // Limits around each other charge all or nothing.
            let is_denied = parts.extensions.get::<DeniedInside>().is_some();
            if is_denied || options.charge_on.as_ref().is_some_and(|is_charged| !is_charged(&parts)) {
                charge.give_back().await;
            }
            let mut response = Response::from_parts(parts, body);
            answers.write(&mut response, &options.gate);
            let hold = charge.held();
            Ok(response.map(|body| ResponseBody::new(body, hold)))
        })
    }
}

/// The reason why a request is not passed on, beside its limits.
enum Denied {
    /// It cannot be decided, and that is the client's mistake.
    Refused(Refusal),
    Failed(StatusCode),
}

/// A request that was decided.
struct Decision {
    /// The result of what is enforced, if anything is.
    info: Option<LimitInfo>,
    answers: Answers,
    charge: Charge,
    counted: Counted,
}

/// The charge of a request. Units that it holds are released when it is dropped.
#[expect(clippy::large_enum_variant, reason = "most requests have the larger one")]
enum Charge {
    Held(Arc<Hold>),
    Spent(Receipt, Plan),
}

impl Charge {
    fn held(self) -> Option<Arc<Hold>> {
        if let Self::Held(hold) = self { Some(hold) } else { None }
    }

    async fn give_back(&self) {
        match self {
            Self::Held(hold) => hold.give_back(),
            // A store that cannot has reported it: the response is not at fault.
            Self::Spent(receipt, plan) => drop(receipt.settle(&plan.costs(|_| Paid::Units(0))).await),
        }
    }
}

impl Options {
    /// Decides a request; `None` where it is not limited.
    async fn decide(&self, parts: &Parts) -> Result<Option<Decision>, Denied> {
        if self.skip.as_ref().is_some_and(|skip| skip(parts)) {
            return Ok(None);
        }
        let chosen = match &self.limits_of {
            Some(limits_of) => Some(limits_of(parts).await),
            None => None,
        };
        let limits = chosen.as_deref().unwrap_or(&self.limits);
        let watched = self.watched.as_ref().filter(|_| chosen.is_none()).map(|watched| (watched, watched.current()));
        if limits.is_empty() && watched.is_none() && self.candidates.is_empty() {
            return Ok(None);
        }
        let key = self.key.as_ref().and_then(|key| key(parts)).filter(|key| !key.is_empty());
        let actor = match &key {
            Some(key) => key_of(key).into_owned(),
            None => match self.client(parts) {
                Ok(actor) => actor,
                // What is only tried fails no request.
                Err(_) if self.is_shadow => return Ok(None),
                Err(denied) => return Err(denied),
            },
        };
        let cost = self.cost.as_ref().map_or(1, |cost| cost(parts));
        let factor = self.factor.as_ref().map_or(1.0, |factor| factor(parts));
        let role = if self.is_shadow { Role::Shadow } else { Role::Enforced };
        let enforced: Vec<_> = match &watched {
            Some((watched, current)) => watched.checks(current, &actor),
            None => limits.iter().map(|limit| Check::new(limit, &actor)).collect(),
        };
        let enforced = enforced.into_iter().map(|check| (check, role));
        let candidates = self.candidates.iter().map(|limit| (Check::new(limit, &actor), Role::Candidate));
        let asked: Vec<_> = enforced
            .chain(candidates)
            .map(|(check, role)| Asked::new(0, check.cost(cost).factor(check.factor * factor)).role(role))
            .collect();
        if asked.is_empty() {
            return Ok(None);
        }
        let plan = Plan::new(&asked);
        let checks = plan.checks(&asked);
        let decided = if checks.iter().any(Check::holds) {
            // What a client takes that goes away meanwhile is given back.
            self.limiter.start_acquire(&checks, Duration::ZERO).at_once().finish().await
        } else {
            self.limiter.decide(&checks, Call::Limit).await
        };
        let whole = match decided {
            Ok(info) => info,
            Err(_) if !plan.enforces() => return Ok(None),
            Err(error) => return Err(self.denied(&error, parts)),
        };
        let denied = |at| whole.checks().iter().any(|info| info.check_index() == at && info.blocked);
        let trials = self.on_trial.as_ref().map(|tell| (tell, plan.trials(denied)));
        let receipt = self.limiter.receipt(&checks, Call::Limit, &whole);
        let info = plan.answer(&whole, 0);
        let charge = match plan.lease(whole.blocked, denied) {
            Some(lease) => Charge::Held(Hold::begin(receipt, plan, lease)),
            None => Charge::Spent(receipt, plan),
        };
        // The program's function may panic, and what was taken is released then.
        if let Some((tell, trials)) = trials {
            for trial in &trials {
                tell(trial);
            }
        }
        let mut counted = parts.extensions.get::<Counted>().cloned().unwrap_or_default();
        if let Some(key) = counted.note(self.limiter.entries_id(), &checks, &whole) {
            self.gate.report(Mistake::CountedTwice, key).iter().for_each(tell);
        }
        Ok(Some(Decision { answers: Answers::of(&whole, &checks), info, charge, counted }))
    }

    fn client(&self, parts: &Parts) -> Result<String, Denied> {
        let peer = (self.peer)(parts).map(|peer| peer.to_string());
        let lines: Vec<_> = parts.headers.get_all(self.gate.header_name()).iter().map(HeaderValue::as_bytes).collect();
        match self.gate.client(peer.as_deref(), &lines) {
            Ok(client) => {
                client.warning.iter().for_each(tell);
                Ok(client.actor)
            }
            Err(error) => {
                tracing::error!("{error}");
                Err(Denied::Failed(StatusCode::INTERNAL_SERVER_ERROR))
            }
        }
    }

    fn denied(&self, error: &Error, parts: &Parts) -> Denied {
        let Error::Limit(error) = error else { return Denied::Failed(StatusCode::SERVICE_UNAVAILABLE) };
        // A key or a cost that is no function's is not the client's.
        let is_chosen = if error.field() == "cost" { self.cost.is_some() } else { self.key.is_some() };
        if let Some(mistake) = RequestError::of(error).filter(|_| is_chosen) {
            return Denied::Refused(self.gate.rejection(mistake, &accepted(parts)));
        }
        tracing::error!("{error}");
        Denied::Failed(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// All lines of a request's `Accept`. A client of gRPC reads a sentence.
fn accepted(parts: &Parts) -> Vec<&[u8]> {
    if grpc::is_asked(&parts.headers) {
        return vec![b"text/plain"];
    }
    parts.headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes).collect()
}
