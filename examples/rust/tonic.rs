//! A server of gRPC with tonic, its limits a layer of tower: `cargo run --features tonic --bin tonic`.
//!
//! A denied call has the code `RESOURCE_EXHAUSTED`, with `retry-after` and the headers of the limit as its metadata.

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use tidegate::tower::RateLimitLayer;
use tidegate::{Limit, LimitError, Limiter, Memory};
use tokio::net::TcpListener;
use tonic::service::Routes;

async fn app(limiter: Limiter) -> Result<Router, LimitError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("shop", tonic_health::ServingStatus::Serving).await;
    // Per user; whoever does not say who they are has the limit of their address.
    let limits = RateLimitLayer::new(limiter, [Limit::parse("rpc", "5/minute")?])
        .key(|call| call.headers.get("x-user")?.to_str().ok().map(str::to_owned))
        .peer(|call| Some(call.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()));
    Ok(Routes::new(health).into_axum_router().layer(limits))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:50051").await?;
    let app = app(Limiter::new(Memory::new())).await?; // or Limiter::connect("redis://localhost:6379").await?
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tonic::transport::Endpoint;
    use tonic::{Code, Request, Status};
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;

    use super::*;

    #[tokio::test]
    async fn the_sixth_call_of_a_user_is_denied() -> Result<(), Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let app = app(Limiter::new(Memory::new())).await?.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await });

        let mut client = HealthClient::new(Endpoint::new(format!("http://{address}"))?.connect().await?);
        for left in ["4", "3", "2", "1", "0"] {
            let response = client.check(call("ada")?).await?;
            assert_eq!(response.metadata().get("x-ratelimit-remaining").ok_or("a header")?, left);
        }
        let denied: Status = client.check(call("ada")?).await.err().ok_or("a denial")?;
        assert_eq!(
            (denied.code(), denied.message()),
            (Code::ResourceExhausted, "Rate limit exceeded. Retry in 12 seconds.")
        );
        assert_eq!(denied.metadata().get("retry-after").ok_or("a header")?, "12");
        client.check(call("grace")?).await?;
        Ok(())
    }

    fn call(user: &str) -> Result<Request<HealthCheckRequest>, Box<dyn Error>> {
        let mut call = Request::new(HealthCheckRequest { service: "shop".to_owned() });
        call.metadata_mut().insert("x-user", user.parse()?);
        Ok(call)
    }
}
