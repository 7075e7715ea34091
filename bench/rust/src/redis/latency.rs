//! One call at a time, beside the same command sent without us.

use std::hint::black_box;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Value};
use tidegate::{Limit, Limiter, Redis};
use tokio::runtime::{Builder, Runtime};

use crate::measure::duel;
use crate::row::in_micros;
use crate::server::Server;
use crate::{Result, actors, all_asked, limit, limiter};

const CALLS: usize = 500;
const ROUNDS: usize = 31;

pub(crate) fn rows(server: &Server) -> Result<Vec<serde_json::Value>> {
    let (limiter, limit) = (limiter(server)?, limit()?);
    // As many as are called in a round, so that both contenders meet entries that have not been used for as long.
    let actors = actors("latency", CALLS);
    let commands = commands(server, &limiter, &limit, &actors)?;
    let rows = vec![
        asynchronous(server, &limiter, &limit, &actors, &commands)?,
        synchronous(server, &limiter, &limit, &actors, &commands)?,
    ];
    all_asked(&limiter)?;
    Ok(rows)
}

fn asynchronous(
    server: &Server,
    limiter: &Limiter,
    limit: &Limit,
    actors: &[String],
    commands: &[Vec<Vec<u8>>],
) -> Result<serde_json::Value> {
    let runtime = runtime()?;
    let connection = runtime.block_on(connect(server.url()))?;
    Ok(in_micros(duel(
        "limit, one at a time",
        Some(1.15),
        ROUNDS,
        "redis-rs async, bare EVALSHA",
        || {
            runtime.block_on(async {
                for actor in actors {
                    let _ = black_box(limiter.limit(limit, actor).await.expect("the server is well"));
                }
            });
            CALLS
        },
        || {
            runtime.block_on(async {
                for words in commands {
                    send(&connection, words).await;
                }
            });
            CALLS
        },
    )))
}

fn synchronous(
    server: &Server,
    limiter: &Limiter,
    limit: &Limit,
    actors: &[String],
    commands: &[Vec<Vec<u8>>],
) -> Result<serde_json::Value> {
    let mut connection = Client::open(server.url())?.get_connection()?;
    Ok(in_micros(duel(
        "limit_sync, one at a time",
        Some(1.2),
        ROUNDS,
        "redis-rs blocking, bare EVALSHA",
        || {
            for actor in actors {
                let _ = black_box(limiter.limit_sync(limit, actor).expect("the server is well"));
            }
            CALLS
        },
        || {
            for words in commands {
                let reply: Value = command(words).query(&mut connection).expect("the server is well");
                let _ = black_box(reply);
            }
            CALLS
        },
    )))
}

/// Sends a decision as any other command is sent.
pub(crate) async fn send(connection: &MultiplexedConnection, words: &[Vec<u8>]) {
    let reply: Value = command(words).query_async(&mut connection.clone()).await.expect("the server is well");
    let _ = black_box(reply);
}

fn command(words: &[Vec<u8>]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(&word[..]);
    }
    command
}

/// The commands that the limiter sends for each of these actors. It has talked to the server once, which knows the script then.
pub(crate) fn commands(
    server: &Server,
    limiter: &Limiter,
    limit: &Limit,
    actors: &[String],
) -> Result<Vec<Vec<Vec<u8>>>> {
    let store = Redis::open(server.url())?;
    limiter.limit_sync(limit, "the first of all")?;
    let command = |actor: &String| tidegate::ffi::bare_command(&store, limit, actor).ok_or("nothing to send");
    Ok(actors.iter().map(command).collect::<std::result::Result<_, _>>()?)
}

/// The same kind of connection as ours: nothing but our own deadlines ends a call.
pub(crate) async fn connect(url: &str) -> Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    Ok(Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?)
}

/// One thread for everything, as in a process that serves requests on each of its cores.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
