//! Layers of tower around each other: the fields of one response, and limits that several of them count.

use std::fmt::Debug;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{HeaderMap, Request, Response, StatusCode};
use tidegate::headers::{Draft, Reset, Style};
use tidegate::http::Gate;
use tidegate::tower::RateLimitLayer;
use tidegate::{Limit, Limiter, Memory};
use tower_layer::Layer;
use tower_service::Service;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::tower::runtime;

const COMMON: Style = Style::Common(Reset::Seconds);

fn hourly(key: &str, count: u64) -> Limit {
    Limit::token_bucket(key, count, Duration::from_hours(1)).build().expect("a bucket")
}

fn layer(limiter: &Limiter, limit: Limit, style: Style) -> RateLimitLayer {
    let gate = Gate::builder().style(style).scope("layers").build().expect("a gate");
    RateLimitLayer::new(limiter.clone(), [limit]).gate(gate).key(|_| Some("ada".to_owned()))
}

/// A service that answers with this status and these fields.
#[derive(Clone)]
struct Answers(StatusCode, &'static [(&'static str, &'static str)]);

impl Service<Request<()>> for Answers {
    type Response = Response<String>;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut response = Response::new(String::new());
        *response.status_mut() = self.0;
        for (name, value) in self.1 {
            response.headers_mut().insert(*name, value.parse().expect("a value"));
        }
        ready(Ok(response))
    }
}

const PLAIN: Answers = Answers(StatusCode::OK, &[]);

/// The status and the fields of the response to one request.
fn ask<S, B>(service: &mut S) -> (u16, HeaderMap)
where
    S: Service<Request<()>, Response = Response<B>, Error: Debug>,
{
    let response = runtime().block_on(service.call(Request::new(()))).expect("a response");
    (response.status().as_u16(), response.headers().clone())
}

/// Their values; empty for a field that is not there.
fn fields<'a, const N: usize>(headers: &'a HeaderMap, names: [&str; N]) -> [&'a str; N] {
    names.map(|name| headers.get(name).map_or("", |value| value.to_str().expect("text")))
}

const SHOWN: [&str; 4] = ["x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "retry-after"];

#[test]
fn the_fields_of_a_service_stay_behind_any_number_of_layers() {
    let limiter = Limiter::new(Memory::new());
    let own = Answers(StatusCode::SERVICE_UNAVAILABLE, &[("x-ratelimit-limit", "mine"), ("retry-after", "120")]);
    let [inner, middle, outer] =
        [("inner", 9), ("middle", 5), ("outer", 7)].map(|(key, count)| layer(&limiter, hourly(key, count), COMMON));
    let (status, headers) = ask(&mut outer.layer(middle.layer(inner.layer(own))));
    assert_eq!((status, fields(&headers, SHOWN)), (503, ["mine", "4", "", "120"]));
}

#[test]
fn the_outermost_layer_that_shows_its_limits_writes_all_in_its_style() {
    let limiter = Limiter::new(Memory::new());
    let draft = Style::Ietf(Draft::V11);
    let inner = layer(&limiter, hourly("inner", 1), draft);
    let outer = layer(&limiter, hourly("outer", 9), COMMON);
    let mut service = outer.layer(inner.layer(PLAIN));
    let (_, headers) = ask(&mut service);
    assert_eq!(fields(&headers, SHOWN), ["1", "0", "", ""]);
    let (status, headers) = ask(&mut service);
    assert_eq!(status, 429);
    assert_eq!(fields(&headers, ["x-ratelimit-limit", "ratelimit", "cache-control"]), ["1", "", "no-store"]);
    assert!(headers.contains_key("retry-after") && headers.contains_key("content-type"));

    let mut service = layer(&limiter, hourly("third", 9), draft).layer(outer.layer(inner.layer(PLAIN)));
    let (status, headers) = ask(&mut service);
    assert_eq!((status, fields(&headers, ["x-ratelimit-limit"])), (429, [""]));
    assert!(headers["ratelimit"].to_str().is_ok_and(|field| field.matches(";r=").count() == 3), "{headers:?}");
    assert!(headers.contains_key("retry-after"), "that style has none, and the client needs it");
}

#[test]
fn nobody_shows_the_limits_of_a_layer_that_shows_none() {
    let limiter = Limiter::new(Memory::new());
    let hidden = |key| layer(&limiter, hourly(key, 1), Style::None);
    let shown = |key, count| layer(&limiter, hourly(key, count), COMMON);

    let mut service = shown("outside", 9).layer(hidden("inside").layer(PLAIN));
    let (_, headers) = ask(&mut service);
    assert_eq!(fields(&headers, SHOWN), ["9", "8", "", ""]);
    let (status, headers) = ask(&mut service);
    assert_eq!((status, fields(&headers, ["x-ratelimit-limit", "x-ratelimit-remaining"])), (429, ["9", "7"]));
    assert!(headers.contains_key("retry-after"));

    let between = hidden("between").layer(shown("in", 5).layer(PLAIN));
    let (_, headers) = ask(&mut shown("out", 9).layer(between.clone()));
    assert_eq!(fields(&headers, SHOWN), ["5", "4", "", ""]);
    let (_, headers) = ask(&mut hidden("around").layer(shown("in", 5).layer(PLAIN)));
    assert_eq!(fields(&headers, SHOWN), ["5", "3", "", ""]);
}

/// The codes that are told, and what else is said.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    /// The codes of the mistakes.
    pub(crate) fn codes(&self) -> Vec<String> {
        let said = self.0.lock().expect("open");
        said.iter().filter_map(|said| Some(said.strip_prefix("code: \"")?.strip_suffix('"')?.to_owned())).collect()
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().expect("open").push(format!("{field}: {value:?}"));
    }
}

impl Subscriber for Told {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn two_definitions_of_one_key_are_told_once() {
    let limiter = Limiter::new(Memory::new());
    let told = Told::default();
    tracing::subscriber::with_default(told.clone(), || {
        let gate = || Gate::builder().scope("definitions").build().expect("a gate");
        let build = |limiter: &Limiter, size| {
            RateLimitLayer::new(limiter.clone(), [hourly("defined", size)]).gate(gate()).layer(PLAIN);
        };
        build(&limiter, 10);
        // The same one, of another store, and of another namespace.
        build(&limiter, 10);
        build(&Limiter::new(Memory::new()), 11);
        build(&limiter.namespace("another"), 12);
        assert_eq!(told.codes(), [""; 0]);
        build(&limiter, 13);
        build(&limiter, 14);
        assert_eq!(told.codes(), ["same-key-twice"]);
        assert!(told.0.lock().expect("open").iter().any(|said| said.contains("defined")), "it names the limit");
    });
    assert_eq!(told.codes().len(), 1);
}

#[test]
fn a_request_that_two_layers_count_for_one_limit_is_told_once() {
    let (limiter, limit) = (Limiter::new(Memory::new()), hourly("twice", 10));
    let of = |limiter: &Limiter| layer(limiter, limit.clone(), COMMON);
    let told = Told::default();
    tracing::subscriber::with_default(told.clone(), || {
        // Of another client, of another store, of another namespace, without a charge, and in shadow mode.
        for other in [
            of(&limiter).key(|_| Some("bob".to_owned())),
            of(&Limiter::new(Memory::new())),
            of(&limiter.namespace("another")),
            of(&limiter).cost(|_| 0),
            of(&limiter).factor(|_| 0.0),
            of(&limiter).shadow(true),
        ] {
            ask(&mut of(&limiter).layer(other.layer(PLAIN)));
        }
        assert_eq!(told.codes(), [""; 0]);
        let between = layer(&limiter, hourly("between", 10), COMMON);
        let mut service = of(&limiter).layer(between.layer(of(&limiter).layer(PLAIN)));
        ask(&mut service);
        assert_eq!(told.codes(), ["counted-twice"]);
        assert!(told.0.lock().expect("open").iter().any(|said| said.contains("(twice)")), "it names the limit");
        ask(&mut service);
    });
    assert_eq!(told.codes().len(), 1);
}
