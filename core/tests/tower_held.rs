//! Units that requests hold behind the layer of tower, apart from what all frameworks share.

use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{Request, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde_json::Value;
use tidegate::tower::{Held, RateLimit, RateLimitLayer};
use tidegate::{Limit, Limiter, Memory};
use tokio::sync::Notify;
use tower_layer::Layer;
use tower_service::Service;

use crate::tower::{PATIENCE, ask, begin, open, runtime, serve};

fn exports(lease: Duration) -> Limit {
    Limit::concurrency("exports", 1, lease).build().expect("a limit")
}

fn held(limiter: &Limiter, limit: &Limit) -> u64 {
    1 - limiter.peek_sync(limit, "ada").expect("an answer").remaining
}

fn layer(limiter: &Limiter, limit: &Limit) -> RateLimitLayer {
    RateLimitLayer::new(limiter.clone(), [limit.clone()]).key(|_| Some("ada".to_owned()))
}

/// A service that answers at once, fails, or does neither.
#[derive(Clone)]
enum Inner {
    Answers,
    Fails,
    Hangs,
}

impl Service<Request<()>> for Inner {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<Response<String>, &'static str>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        match self {
            Self::Answers => Box::pin(async { Ok(Response::new(String::new())) }),
            Self::Fails => Box::pin(async { Err("on purpose") }),
            Self::Hangs => Box::pin(pending()),
        }
    }
}

#[test]
fn a_request_releases_when_its_response_or_its_future_is_dropped_and_when_its_service_fails() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(Duration::from_secs(60)));
    let service = |inner: Inner| -> RateLimit<Inner> { layer(&limiter, &limit).layer(inner) };
    runtime().block_on(async {
        let response = service(Inner::Answers).call(Request::new(())).await.expect("a response");
        assert_eq!(held(&limiter, &limit), 1);
        let denied = service(Inner::Answers).call(Request::new(())).await.expect("a response");
        assert_eq!((denied.status().as_u16(), held(&limiter, &limit)), (429, 1));
        drop(response);
        assert_eq!(held(&limiter, &limit), 0);

        assert_eq!(service(Inner::Fails).call(Request::new(())).await.err(), Some("on purpose"));
        assert_eq!(held(&limiter, &limit), 0);

        let mut hanging = service(Inner::Hangs).call(Request::new(()));
        tokio::select! {
            biased;
            _ = &mut hanging => panic!("it has no response"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(held(&limiter, &limit), 1);
        drop(hanging);
        assert_eq!(held(&limiter, &limit), 0);
    });
}

#[test]
fn a_request_releases_when_a_function_of_the_program_panics_and_pays_what_it_was_charged() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(Duration::from_secs(60)));
    let paid = Limit::bucket("paid", 9).drip_rate(Duration::from_hours(1)).build().expect("a bucket");
    let of = |limits: [Limit; 2]| RateLimitLayer::new(limiter.clone(), limits).key(|_| Some("ada".to_owned()));
    let both = [limit.clone(), paid.clone()];
    let tried = Limit::bucket("tried", 9).build().expect("a bucket");
    let each = [
        of(both.clone()).candidate([tried]).on_trial(|_| panic!("on purpose")),
        of(both.clone()).charge_on(|_| panic!("on purpose")),
        of(both).shadow(true).on_trial(|_| panic!("on purpose")),
    ];
    for (index, layer) in each.into_iter().enumerate() {
        let mut service = layer.layer(Inner::Answers);
        let asked = runtime().block_on(async { tokio::spawn(service.call(Request::new(()))).await });
        assert!(asked.is_err_and(|error| error.is_panic()), "{index}");
        assert_eq!(held(&limiter, &limit), 0, "{index}");
        assert_eq!(limiter.peek_sync(&paid, "ada").expect("an answer").remaining, 8 - index as u64);
    }
}

#[test]
fn a_handler_whose_work_begins_with_its_response_keeps_what_all_layers_hold() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(Duration::from_secs(60)));
    let other = Limit::concurrency("all", 1, Duration::from_secs(60)).build().expect("a limit");
    let done = Arc::new(Notify::new());
    let waiting = done.clone();
    let upgrade = move |Extension(held): Extension<Held>| async move {
        tokio::spawn(async move {
            waiting.notified().await;
            drop(held);
        });
        "switching"
    };
    let app = Router::new().route("/", get(upgrade)).layer(layer(&limiter, &limit)).layer(layer(&limiter, &other));
    runtime().block_on(async {
        let address = serve(app).await;
        assert_eq!(ask(address, "/", &Value::Null).await.status, 200);
        assert_eq!((held(&limiter, &limit), held(&limiter, &other)), (1, 1));
        done.notify_one();
        let ended = async {
            while held(&limiter, &limit) + held(&limiter, &other) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("released");
    });
}

#[test]
fn what_is_held_is_renewed_for_as_long_as_the_response_goes_on() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(Duration::from_secs(6)));
    let app = Router::new().route("/", get(|| async { open() })).layer(layer(&limiter, &limit));
    let free_in = || limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
    runtime().block_on(async {
        let address: SocketAddr = serve(app).await;
        let (answer, connection) = begin(address, "/", &Value::Null).await;
        assert_eq!(answer.status, 200);
        let renewed = async {
            let mut before = free_in();
            loop {
                let now = free_in();
                if now > before {
                    return;
                }
                before = now;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, renewed).await.expect("renewed");
        assert_eq!(held(&limiter, &limit), 1);
        drop(connection);
        let ended = async {
            while held(&limiter, &limit) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(3), ended).await.expect("released before its lease is over");
    });
}
