//! The project's pages, so that their Rust examples run as doctests.

#[cfg(feature = "redis")]
#[doc = include_str!("../../docs/tutorial.md")]
mod tutorial {}

#[cfg(all(feature = "toml", feature = "yaml"))]
#[doc = include_str!("../../docs/definitions.md")]
mod definitions {}

#[doc = include_str!("../../docs/errors.md")]
mod errors {}

#[doc = include_str!("../../docs/proxies.md")]
mod proxies {}

#[doc = include_str!("../../docs/receipts.md")]
mod receipts {}

#[doc = include_str!("../../docs/waiting.md")]
mod waiting {}

#[cfg(feature = "redis")]
#[doc = include_str!("../../docs/redis-transactions.md")]
mod redis_transactions {}

#[cfg(feature = "redis")]
#[doc = include_str!("../../docs/redis-sharkey.md")]
mod redis_sharkey {}

#[cfg(feature = "tower")]
#[doc = include_str!("../../docs/axum.md")]
mod axum {}

#[doc = include_str!("../../docs/recipes/concurrency.md")]
mod recipes_concurrency {}
