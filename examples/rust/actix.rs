//! A server of actix, whose middleware is its own and not tower's: `cargo run --features actix --bin actix`, and then
//! `for i in 1 2 3 4 5 6; do curl -i localhost:3000; done`.

use std::error::Error;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::ErrorInternalServerError;
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpResponse, HttpServer};
use tidegate::headers::{Header, Policy};
use tidegate::http::Gate;
use tidegate::{Limit, LimitError, Limiter, Memory};

/// The limit of an application, and what a response says of it.
struct Limited {
    gate: Gate,
    limiter: Limiter,
    limit: Limit,
}

impl Limited {
    fn new(limiter: Limiter) -> Result<Self, LimitError> {
        Ok(Self { gate: Gate::new(), limiter, limit: Limit::parse("api", "5/minute")? })
    }
}

async fn limit_request(
    limited: Data<Limited>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Limited { gate, limiter, limit } = limited.get_ref();
    let lines = |name: &str| request.headers().get_all(name).map(HeaderValue::as_bytes).collect::<Vec<_>>();
    let peer = request.peer_addr().map(|peer| peer.ip().to_string());
    let client = gate.client(peer.as_deref(), &lines(gate.header_name())).map_err(ErrorInternalServerError)?;
    let info = limiter.limit(limit, &client.actor).await.map_err(ErrorInternalServerError)?;
    let answers = [Policy::new(limit.key(), &info)];
    if info.blocked {
        let refusal = gate.refusal(&answers, &lines(ACCEPT.as_str()), None);
        let status = StatusCode::from_u16(refusal.status).map_err(ErrorInternalServerError)?;
        let response = HttpResponse::build(status).body(refusal.body);
        return Ok(with_headers(request.into_response(response), refusal.headers));
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let headers = gate.headers(&answers, response.status().as_u16());
    Ok(with_headers(response, headers))
}

fn with_headers(mut response: ServiceResponse, headers: Vec<Header>) -> ServiceResponse {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The routes, behind the limit.
fn routes(limited: Data<Limited>) -> impl Fn(&mut ServiceConfig) + Clone {
    move |app: &mut ServiceConfig| {
        let scope = web::scope("").app_data(limited.clone()).wrap(from_fn(limit_request));
        app.service(scope.route("/", web::get().to(|| async { "hello\n" })));
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // One for all workers. Or Limiter::connect("redis://localhost:6379").await?
    let limited = Data::new(Limited::new(Limiter::new(Memory::new()))?);
    HttpServer::new(move || App::new().configure(routes(limited.clone()))).bind("127.0.0.1:3000")?.run().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use actix_web::test::{TestRequest, call_service, init_service};

    use super::*;

    #[actix_web::test]
    async fn the_sixth_request_is_denied() -> Result<(), Box<dyn Error>> {
        let limited = Data::new(Limited::new(Limiter::new(Memory::new()))?);
        let app = init_service(App::new().configure(routes(limited))).await;
        let ask =
            || call_service(&app, TestRequest::get().uri("/").peer_addr(([203, 0, 113, 9], 5000).into()).to_request());
        for left in ["4", "3", "2", "1", "0"] {
            let response = ask().await;
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(response.headers().get("x-ratelimit-remaining").ok_or("a header")?, left);
        }
        let denied = ask().await;
        assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(denied.headers().get("retry-after").ok_or("a header")?, "12");
        Ok(())
    }
}
