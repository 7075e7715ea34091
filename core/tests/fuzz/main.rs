//! Sound input, changed at random: documents, texts, URLs, headers, and the replies of servers.
//!
//! A run takes seconds; CONTRIBUTING says how to make it longer.
#![allow(missing_docs, reason = "a test")]

#[cfg(all(feature = "toml", feature = "yaml"))]
mod documents;
mod headers;
#[path = "../mutate/mod.rs"]
mod mutate;
#[cfg(feature = "redis")]
mod replies;
#[cfg(feature = "redis")]
#[path = "../servers/mod.rs"]
mod servers;
mod text;
#[cfg(feature = "redis")]
mod urls;

use proptest::prelude::*;
use tidegate::{Limit, Limiter, Memory};

/// A limit that was read can be used, and its wire form is the same limit.
fn is_sound(limit: &Limit) -> Result<(), TestCaseError> {
    let json = limit.to_json();
    let same = Limit::from_json(&json);
    prop_assert_eq!(same.as_ref(), Ok(limit), "{}", &json);
    prop_assert!(!limit.explain().to_string().is_empty());
    let info = Limiter::new(Memory::new()).limit_sync(limit, "ada").expect("one unit can be asked for");
    prop_assert!(info.remaining <= info.quota || info.quota == 0, "{}", &json);
    Ok(())
}
