//! A server of axum, its limits a layer of tower: `cargo run --bin axum`, and then
//! `for i in 1 2 3 4 5 6; do curl -i localhost:8000; done`.

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use tidegate::tower::RateLimitLayer;
use tidegate::{Limit, LimitError, Limiter, Memory};
use tokio::net::TcpListener;

fn app(limiter: Limiter) -> Result<Router, LimitError> {
    let limits = RateLimitLayer::new(limiter, [Limit::parse("api", "5/minute")?])
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()));
    Ok(Router::new().route("/", get(|| async { "hello\n" })).layer(limits))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:8000").await?;
    let app = app(Limiter::new(Memory::new()))?; // with the feature `redis`: Limiter::connect("redis://localhost:6379").await?
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[tokio::test]
    async fn the_sixth_request_is_denied() -> Result<(), Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let app = app(Limiter::new(Memory::new()))?.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await });
        let statuses = tokio::task::spawn_blocking(move || {
            (0..6).map(|_| status(address)).collect::<Result<Vec<_>, std::io::Error>>()
        });
        assert_eq!(statuses.await??, ["200", "200", "200", "200", "200", "429"]);
        Ok(())
    }

    fn status(server: SocketAddr) -> std::io::Result<String> {
        let mut stream = std::net::TcpStream::connect(server)?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response.split(' ').nth(1).unwrap_or_default().to_owned())
    }
}
