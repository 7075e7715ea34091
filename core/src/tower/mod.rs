//! Rate limits as a layer of tower: for axum, and for every server of its kind.
//!
//! ```
//! use std::time::Duration;
//! use tidegate::tower::RateLimitLayer;
//! use tidegate::{Limit, Limiter, Memory};
//!
//! let api = Limit::token_bucket("api", 100, Duration::from_secs(60)).build()?;
//! let login = Limit::sliding_log("login", 5, Duration::from_secs(900)).build()?;
//! let limiter = Limiter::new(Memory::new());
//!
//! // Of every client, and of each account that somebody tries to log in to.
//! let of_clients = RateLimitLayer::new(limiter.clone(), [api]);
//! let of_accounts = RateLimitLayer::new(limiter, [login])
//!     .key(|request| request.headers.get("x-account")?.to_str().ok().map(str::to_owned))
//!     .charge_on(|response| response.status == 401);
//! # let _ = (of_clients, of_accounts);
//! # Ok::<(), tidegate::LimitError>(())
//! ```

mod answers;
mod grpc;
mod held;
mod layer;
mod options;
mod service;

pub use held::{Held, ResponseBody};
pub use layer::RateLimitLayer;
pub use service::{RateLimit, ResponseFuture};
