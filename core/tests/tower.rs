//! The layer of tower, under axum over a real socket: the scenarios that every framework of every language plays, and what
//! is its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde_json::Value;
use tidegate::http::Gate;
use tidegate::tower::RateLimitLayer;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::http_vectors::{list, number, text};
use crate::tower_layers::Told;

fn scenarios() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/web.json");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let Value::Array(scenarios) = all["scenarios"].take() else { panic!("a list") };
    scenarios
}

/// The limits that are written here: texts under this name, and definitions.
fn limits(given: &Value, name: &str) -> Vec<Limit> {
    let each = if let Value::Array(several) = given { several.clone() } else { vec![given.clone()] };
    let texts: Vec<&str> = each.iter().filter_map(Value::as_str).collect();
    let mut made = Vec::new();
    if !texts.is_empty() {
        made.extend(Limit::parse_all(name, &texts.join("; ")).expect("limits"));
    }
    made.extend(each.iter().filter(|one| one.is_object()).map(limit));
    made
}

fn limit(given: &Value) -> Limit {
    serde_json::from_value(given.clone()).expect("a limit")
}

fn header(request: &axum::http::request::Parts, name: &str) -> Option<String> {
    Some(request.headers.get(name)?.to_str().ok()?.to_owned())
}

/// The header that an option is read from.
fn named(option: &Value) -> Option<String> {
    option["header"].as_str().map(str::to_owned)
}

fn peer(request: &axum::http::request::Parts) -> Option<std::net::IpAddr> {
    Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip())
}

/// The layer of these limits and options, whose texts have this name unless the options say one.
fn layer(limiter: &Limiter, given: &Value, options: &Value, name: &str, scope: &str) -> RateLimitLayer {
    let name = options["name"].as_str().unwrap_or(name);
    let mut layer = match named(given) {
        Some(from) => {
            let choices = given["choices"].clone();
            RateLimitLayer::new(limiter.clone(), []).limits_of(move |request| {
                let chosen = header(request, &from).map(|plan| choices[plan].clone()).filter(|plan| !plan.is_null());
                std::future::ready(chosen.map_or_else(Vec::new, |plan| limits(&plan, "app")))
            })
        }
        None => RateLimitLayer::new(limiter.clone(), limits(given, name)),
    };
    layer = layer.gate(gate(options, scope)).peer(peer).shadow(options["shadow"] == true);
    if let Some(key) = named(&options["key"]) {
        layer = layer.key(move |request| header(request, &key));
    }
    if let Some(cost) = named(&options["cost"]) {
        // A number that no cost can be, as a program that reads it would have it refused.
        layer = layer.cost(move |request| header(request, &cost).map_or(1, |cost| cost.parse().unwrap_or(u64::MAX)));
    }
    if let Some(factor) = named(&options["factor"]) {
        layer =
            layer.factor(move |request| header(request, &factor).map_or(1.0, |factor| factor.parse().expect("one")));
    }
    if let Some(skip) = named(&options["skip"]) {
        layer = layer.skip(move |request| request.headers.contains_key(&skip));
    }
    if let Value::Array(statuses) = &options["chargeOn"] {
        let statuses: Vec<u16> = statuses.iter().map(|status| u16::try_from(number(status)).expect("small")).collect();
        layer = layer.charge_on(move |response| statuses.contains(&response.status.as_u16()));
    }
    if options["candidate"].is_object() {
        layer = layer.candidate([limit(&options["candidate"])]);
    }
    layer
}

/// The options that are the gate's. Mistakes are told once for each scope.
fn gate(options: &Value, scope: &str) -> Gate {
    let mut fields = vec![("scope".to_owned(), tidegate::limits::Value::Text(scope.to_owned()))];
    for (name, given) in options.as_object().into_iter().flatten() {
        if !tidegate::http::GATE_OPTIONS.contains(&name.as_str()) {
            continue;
        }
        let value = |value: &Value| match value {
            Value::Number(number) => tidegate::limits::Value::Number(number.as_f64().expect("a double")),
            other => tidegate::limits::Value::Text(text(other).to_owned()),
        };
        match given {
            Value::Array(items) => fields.extend(items.iter().map(|item| (name.clone(), value(item)))),
            one => fields.push((name.clone(), value(one))),
        }
    }
    Gate::from_fields(fields).expect("sound options")
}

async fn answer(request: Request) -> Response {
    match request.uri().path() {
        "/open" => open(),
        "/redirect" => (StatusCode::FOUND, [("location", "/")]).into_response(),
        "/error" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        path if path.ends_with("/login") && !request.uri().query().is_some_and(|query| query.contains("password")) => {
            StatusCode::UNAUTHORIZED.into_response()
        }
        _ => "hello".into_response(),
    }
}

/// A body that begins, and does not end.
struct Open(Option<Bytes>);

impl http_body::Body for Open {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        self.0.take().map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(http_body::Frame::data(bytes)))))
    }
}

pub(crate) fn open() -> Response {
    Body::new(Open(Some(Bytes::from_static(b"open")))).into_response()
}

/// Serves an application on a free port for as long as the runtime lives.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn of(response: &str) -> Self {
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let field = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self { status, headers: lines.filter_map(field).collect(), body: body.to_owned() }
    }
}

pub(crate) async fn ask(address: SocketAddr, path: &str, headers: &Value) -> Answer {
    ask_by(address, "GET", None, path, headers).await
}

/// The response to a request with this method, from this address of the machine.
async fn ask_by(address: SocketAddr, method: &str, from: Option<&str>, path: &str, headers: &Value) -> Answer {
    let mut stream = send(address, method, from, path, headers).await;
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("a response");
    Answer::of(&response)
}

/// The beginning of a response that goes on, and the connection that it comes over.
pub(crate) async fn begin(address: SocketAddr, path: &str, headers: &Value) -> (Answer, TcpStream) {
    let mut stream = send(address, "GET", None, path, headers).await;
    let mut response = Vec::new();
    while !response.windows(4).any(|end| end == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut response).await.expect("a response") > 0, "it has ended");
    }
    (Answer::of(&String::from_utf8_lossy(&response)), stream)
}

async fn send(address: SocketAddr, method: &str, from: Option<&str>, path: &str, headers: &Value) -> TcpStream {
    let field = |(name, value): (&String, &Value)| format!("{name}: {}\r\n", text(value));
    let fields: Vec<String> = headers.as_object().into_iter().flatten().map(field).collect();
    let fields = fields.concat();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n");
    let socket = TcpSocket::new_v4().expect("a socket");
    if let Some(from) = from {
        socket.bind(SocketAddr::new(from.parse().expect("an address"), 0)).expect("an address of this machine");
    }
    let mut stream = socket.connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn play(scenario: &Value) {
    let name = text(&scenario["name"]);
    let limiter = Limiter::new(Memory::new());
    let place =
        |of: &str, name: &str| scenario.get(of).map(|given| layer(&limiter, &given["limits"], given, name, name));
    let items = || {
        let of = |method: MethodRouter, name: &str| match place("item", &format!("{name} /items/{{id}}")) {
            Some(own) => method.layer(own),
            None => method,
        };
        of(get(answer), "GET").merge(of(post(answer), "POST"))
    };
    let mut shop = Router::new().route("/shop/items/{id}", items()).route("/shop/cart", get(answer));
    if let Some(own) = place("router", "/shop") {
        shop = shop.layer(own);
    }
    let app = Router::new().route("/items/{id}", items()).merge(shop).fallback(answer);
    let app = app.layer(layer(&limiter, &scenario["limits"], &scenario["options"], "app", name));
    let address = serve(app).await;
    let mut open = HashMap::new();
    for (index, asked) in list(&scenario["requests"]).iter().enumerate() {
        if let Some(left) = asked["leave"].as_str() {
            drop(open.remove(left));
        } else if asked["path"].is_string() {
            let at = format!("{name}: request {index}");
            let (answer, stream) = asking(address, asked).await;
            if let Some(opened) = asked["open"].as_str() {
                open.insert(opened, stream);
            }
            check(&answer, asked, &at);
        }
        used(&limiter, &asked["used"], name).await;
    }
    used(&limiter, &scenario["used"], name).await;
}

/// The response to a request, which is sent until it has its status, and the connection of one that goes on.
async fn asking(address: SocketAddr, asked: &Value) -> (Answer, Option<TcpStream>) {
    let (path, headers) = (text(&asked["path"]), &asked["headers"]);
    let give_up = tokio::time::Instant::now() + PATIENCE;
    loop {
        let (answer, stream) = if asked["open"].is_string() {
            let (answer, stream) = begin(address, path, headers).await;
            (answer, Some(stream))
        } else {
            let method = asked["method"].as_str().unwrap_or("GET");
            (ask_by(address, method, asked["peer"].as_str(), path, headers).await, None)
        };
        let is_awaited = asked["until"] == true && tokio::time::Instant::now() < give_up;
        if !is_awaited || u64::from(answer.status) == number(&asked["status"]) {
            return (answer, stream);
        }
    }
}

/// The longest time that a response may take to end for the server when it has for its client.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

fn check(answer: &Answer, asked: &Value, at: &str) {
    let cost = asked["headers"]["x-cost"].as_str();
    // A cost here is a number by its type, so that one below 0 is a large one.
    let expected = if cost == Some("-1") { 413 } else { number(&asked["status"]) };
    assert_eq!(u64::from(answer.status), expected, "{at}: {}", answer.body);
    for (header, value) in asked["has"].as_object().into_iter().flatten() {
        let given = answer.header(header);
        match value {
            Value::Array(bounds) => {
                let given: f64 = given.and_then(|given| given.parse().ok()).expect("a number");
                let [least, most] = [0, 1].map(|at| bounds[at].as_f64().expect("a bound"));
                assert!((least..=most).contains(&given), "{at}: {header}: {given}");
            }
            value => assert_eq!(given, value.as_str(), "{at}: {header}"),
        }
    }
    if cost != Some("-1") {
        for (field, value) in asked["body"].as_object().into_iter().flatten() {
            let body: Value = serde_json::from_str(&answer.body).expect("JSON");
            assert_eq!(&body[field], value, "{at}");
        }
    }
}

async fn used(limiter: &Limiter, expected: &Value, name: &str) {
    for used in expected.as_array().into_iter().flatten() {
        let (limit, actor) = (limit(&used[0]), text(&used[1]));
        let give_up = tokio::time::Instant::now() + PATIENCE;
        loop {
            let info = limiter.peek(&limit, actor).await.expect("an answer");
            let units = info.quota - info.remaining;
            if units == number(&used[2]) {
                break;
            }
            assert!(tokio::time::Instant::now() < give_up, "{name}: {} of {actor}: {units}", limit.key());
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn scenarios_of_all_frameworks() {
    let runtime = runtime();
    let scenarios = scenarios();
    assert!(scenarios.len() > 20);
    for scenario in &scenarios {
        let told = Told::default();
        tracing::subscriber::with_default(told.clone(), || runtime.block_on(play(scenario)));
        let mistakes = scenario.get("mistakes").map_or(&[][..], list);
        assert_eq!(told.codes(), mistakes.iter().map(text).collect::<Vec<_>>(), "{}", scenario["name"]);
    }
}

#[test]
fn a_handler_finds_the_result_and_layers_share_one_set_of_headers() {
    let hourly = |key: &str, count| Limit::token_bucket(key, count, Duration::from_hours(1)).build().expect("a bucket");
    let limiter = Limiter::new(Memory::new());
    let of = |key: &str, count| RateLimitLayer::new(limiter.clone(), [hourly(key, count)]).peer(peer);
    let left = |request: Request| async move {
        request.extensions().get::<LimitInfo>().map_or_else(String::new, |info| info.remaining.to_string())
    };
    let app = Router::new()
        .route("/", get(left).layer(of("inner", 2)))
        .route("/own", get(|| async { ([("x-ratelimit-limit", "mine")], "own").into_response() }))
        .layer(of("outer", 9));
    runtime().block_on(async {
        let address = serve(app).await;
        let answer = ask(address, "/", &Value::Null).await;
        assert_eq!((answer.body.as_str(), answer.header("x-ratelimit-limit")), ("1", Some("2")));
        ask(address, "/", &Value::Null).await;
        let denied = ask(address, "/", &Value::Null).await;
        assert_eq!((denied.status, denied.header("x-ratelimit-limit")), (429, Some("2")));
        assert_eq!(denied.headers.iter().filter(|(name, _)| name == "x-ratelimit-limit").count(), 1);
        let own = ask(address, "/own", &Value::Null).await;
        assert_eq!((own.header("x-ratelimit-limit"), own.header("x-ratelimit-remaining")), (Some("mine"), Some("6")));
    });
}

#[test]
fn layers_of_one_stack_and_what_is_only_tried() {
    let bucket = |size| Limit::bucket("api", size).drip_rate(Duration::from_hours(1)).build().expect("a bucket");
    let large =
        Limit::bucket("large", 1_000_000_000_000).drip_rate(Duration::from_millis(1)).build().expect("a bucket");
    let limiter = Limiter::new(Memory::new());
    let of = |limits: &[Limit]| RateLimitLayer::new(limiter.clone(), limits.to_vec());
    let quota = |request: Request| async move {
        request.extensions().get::<LimitInfo>().map_or_else(String::new, |info| info.quota.to_string())
    };
    let routes = Router::new().route("/", get(quota));
    let apps = [
        (routes.clone().layer((of(&[bucket(2)]).peer(peer), of(&[bucket(3)]).peer(peer))), "3"),
        // Without an address, and with a candidate that no factor like this fits.
        (routes.clone().layer(of(&[bucket(4)]).shadow(true)), ""),
        (routes.clone().layer(of(&[])), ""),
        (routes.layer(of(&[bucket(5)]).candidate([large]).factor(|_| 1e-4).peer(peer)), "50000"),
    ];
    runtime().block_on(async {
        for (app, quota) in apps {
            let answer = ask(serve(app).await, "/", &Value::Null).await;
            assert_eq!((answer.status, answer.body.as_str()), (200, quota));
        }
    });
}

#[test]
fn what_is_the_programs_mistake_is_an_error_of_the_server() {
    let limiter = Limiter::new(Memory::new());
    let limit = Limit::bucket("api", 3).build().expect("a bucket");
    let of = |layer: RateLimitLayer| Router::new().route("/", get(|| async { "hello" })).layer(layer);
    runtime().block_on(async {
        let unknown = RateLimitLayer::new(limiter.clone(), [limit.clone()]);
        assert_eq!(ask(serve(of(unknown)).await, "/", &Value::Null).await.status, 500, "no address");
        let scaled = RateLimitLayer::new(limiter.clone(), [limit.clone()]).peer(peer).factor(|_| f64::NAN);
        assert_eq!(ask(serve(of(scaled)).await, "/", &Value::Null).await.status, 500, "no factor");
    });
    assert!(
        limiter.decide_sync(&[Check::new(&limit, "ip:127.0.0.1")], Call::Peek).is_ok_and(|info| info.remaining == 3)
    );
}
