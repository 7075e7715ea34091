//! The replies of a server to the commands that a new connection begins with.

use std::collections::HashMap;

use redis::{RedisError, RedisResult, Value};

use super::error_action::{ErrorAction, nonsense};
use super::server_clock;
use crate::failure::Failure;
use crate::store::redis::advice::{advised, lacks_scripts};
use crate::time::Micros;

/// The properties of a server, as its replies give them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    /// It is a node of a cluster.
    pub(crate) is_cluster: bool,
    /// Its `maxmemory-policy`, where it may be asked for.
    pub(crate) memory_policy: Option<String>,
    /// Its clock, in microseconds since the Unix epoch.
    pub(crate) time: Option<Micros>,
    /// The reason for which it will refuse calls, though it may be tried again.
    pub(crate) refusal: Option<(Failure, String)>,
}

impl Handshake {
    /// Reads the replies to a handshake.
    ///
    /// # Errors
    /// An error that makes the server useless for now.
    pub(crate) fn read(replies: &[Value]) -> RedisResult<Self> {
        let [hello, prepared, .., probed, policy, time] = replies else { return Err(nonsense("a handshake")) };
        let mut said = Self::default();
        if let Ok(hello) = redis::from_redis_value::<HashMap<String, Value>>(hello.clone())
            && let Some(mode) = hello.get("mode")
        {
            said.is_cluster = redis::from_redis_value::<String>(mode.clone()).is_ok_and(|mode| mode == "cluster");
        }
        if let Err(error) = probed.clone().extract_error() {
            match ErrorAction::of(&error) {
                ErrorAction::GiveUp(Failure::NotReady | Failure::ReadOnly | Failure::Unreachable) => return Err(error),
                // A node that has other slots is as good as any.
                ErrorAction::Redirect { .. } | ErrorAction::Retry | ErrorAction::NoOwner => {}
                action => said.refusal = refusal(&action, &error, prepared.clone().extract_error().err().as_ref()),
            }
        }
        said.time = server_clock::instant(time.clone());
        // Some users may not ask for this.
        let policy = redis::from_redis_value::<Vec<String>>(policy.clone()).unwrap_or_default();
        said.memory_policy = policy.into_iter().nth(1);
        Ok(said)
    }

    /// The reason for which a blocked client may be forgotten, if there is one, as measured by
    /// `tests/python/test_redis_eviction.py`.
    pub(crate) fn eviction(&self) -> Option<String> {
        let policy = self.memory_policy.as_deref()?;
        let why = if policy.ends_with("-random") {
            "evicts at random, blocked clients too"
        } else if policy == "volatile-ttl" {
            "evicts first what expires soonest, and a blocked client of a short limit does"
        } else {
            return None;
        };
        Some(format!("its maxmemory-policy {policy} {why}; use noeviction on a server for limits alone"))
    }
}

/// The reason for which calls will be refused, as the error of the probe shows it.
fn refusal(action: &ErrorAction, probed: &RedisError, prepared: Option<&RedisError>) -> Option<(Failure, String)> {
    match (action, prepared) {
        // The script goes along with every call, if that is allowed; where there is none, it is not.
        (ErrorAction::SendScript, Some(error)) if lacks_scripts(&error.to_string()) => {
            Some((Failure::Denied, advised(&error.to_string()).into_owned()))
        }
        (ErrorAction::GiveUp(failure), _) => Some((*failure, advised(&probed.to_string()).into_owned())),
        _ => None,
    }
}
