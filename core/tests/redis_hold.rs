//! Units that are held while work goes on, over a real server.

use std::time::Duration;

use crate::servers::{Server, wait_until};
use tidegate::hold::HoldError;
use tidegate::remote::OnError;
use tidegate::{Limit, Limiter, Redis};

const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

fn over(server: &Server) -> Limiter {
    let store = Redis::builder(&server.url()).on_error(OnError::Raise);
    // A machine that tests many things at once is slow at each.
    Limiter::new(store.timeout(SECOND).build().expect("a store"))
}

fn exports(lease: Duration) -> Limit {
    Limit::concurrency("exports", 1, lease).build().expect("a limit")
}

async fn free(limiter: &Limiter, limit: &Limit) -> u64 {
    limiter.peek(limit, "ada").await.expect("an answer").remaining
}

#[tokio::test]
async fn it_is_renewed_past_its_lease_and_released() {
    let server = Server::start();
    let (limiter, others, limit) = (over(&server), over(&server), exports(3 * SECOND));
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!((free(&others, &limit).await, held.is_lost()), (0, false), "renewed");
    let denied = others.hold(&limit, "ada", Duration::ZERO).await;
    assert!(matches!(denied, Err(HoldError::Blocked { .. })), "{denied:?}");
    assert_eq!(held.release().await.expect("released").remaining, 1);
    assert_eq!(free(&others, &limit).await, 1);
}

#[tokio::test]
async fn it_is_lost_when_its_units_are_taken_away_and_when_the_server_stays_away() {
    let server = Server::start();
    let (limiter, limit) = (over(&server), exports(3 * SECOND));
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    limiter.reset(&limit, "ada").await.expect("reset");
    tokio::time::timeout(PATIENCE, held.lost()).await.expect("lost in time");
    let other = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    drop(held);
    assert_eq!(free(&limiter, &limit).await, 0, "what is lost frees no unit of others");
    drop(server);
    tokio::time::timeout(PATIENCE, other.lost()).await.expect("lost in time");
    assert!(other.release().await.is_err());
}

#[test]
fn a_drop_releases_inside_and_outside_of_a_runtime() {
    let server = Server::start();
    let (limiter, limit) = (over(&server), exports(60 * SECOND));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let is_free = || limiter.peek_sync(&limit, "ada").expect("an answer").remaining == 1;
    runtime.block_on(async { drop(limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held")) });
    wait_until("released", is_free);
    let held = runtime.block_on(limiter.hold(&limit, "ada", Duration::ZERO)).expect("held");
    assert!(!is_free());
    drop((held, runtime));
    wait_until("released", is_free);
}

#[tokio::test]
async fn one_that_is_cancelled_at_any_stage_takes_no_place() {
    let server = Server::start();
    let (limiter, limit) = (over(&server), exports(60 * SECOND));
    for pause in [0_u64, 50, 200, 1000, 20_000] {
        let take = async { drop(limiter.hold(&limit, "ada", SECOND).await.expect("held")) };
        let _ = tokio::time::timeout(Duration::from_micros(pause), take).await;
        let released = async {
            while free(&limiter, &limit).await == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, released).await.expect("nothing stays held");
    }
}

#[cfg(feature = "tower")]
mod of_requests {
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::task::{Context, Poll};

    use axum::http::{Request, Response};
    use tidegate::tower::RateLimitLayer;
    use tower_layer::Layer as _;
    use tower_service::Service;

    use super::*;
    use crate::servers::proxy::Proxy;

    #[derive(Clone)]
    struct Answers;

    impl Service<Request<()>> for Answers {
        type Response = Response<String>;
        type Error = Infallible;
        type Future = Ready<Result<Response<String>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            ready(Ok(Response::new(String::new())))
        }
    }

    #[tokio::test]
    async fn one_whose_client_goes_away_at_any_stage_takes_no_place() {
        let server = Server::start();
        let link = Proxy::to(server.port);
        link.delay(Duration::from_millis(20));
        let store = Redis::builder(&link.url()).on_error(OnError::Raise).timeout(5 * SECOND).build().expect("a store");
        let (limiter, limit) = (Limiter::new(store), exports(60 * SECOND));
        limiter.ping().await.expect("a server");
        let layer = RateLimitLayer::new(limiter.clone(), [limit.clone()]).key(|_| Some("ada".to_owned()));
        let mut service = layer.layer(Answers);
        for pause in [0_u64, 5, 10, 30, 60] {
            let asked = service.call(Request::new(()));
            drop(tokio::time::timeout(Duration::from_millis(pause), asked).await);
            let released = async {
                while free(&limiter, &limit).await == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(PATIENCE, released).await.expect("nothing stays held");
        }
    }
}
