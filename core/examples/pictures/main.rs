//! Draws what each type of limit does to the same traffic, as decided by the engine itself.
//!
//! `cargo run --example pictures` writes `docs/pictures/*.svg`; with `--check` it writes nothing and fails where a
//! picture is not what the engine does now.

mod chart;
mod queue;
mod traffic;

use std::error::Error;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use tidegate::limits::Kind;
use tidegate::{Limit, LimitError};

/// A name for the file, a title, and the limit. All of them say "ten in ten seconds" in their own way.
type Subject = (&'static str, &'static str, Limit);

fn subjects() -> Result<Vec<Subject>, LimitError> {
    let seconds = Duration::from_secs;
    let ten = seconds(10);
    Ok(vec![
        ("bucket", "bucket: size 10, one drip a second", Limit::bucket("a", 10).build()?),
        ("token-bucket", "token-bucket: 10 per 10 s, burst 4", Limit::token_bucket("a", 10, ten).burst(4).build()?),
        ("fixed-window", "fixed-window: 10 per 10 s", Limit::fixed_window("a", 10, ten).build()?),
        (
            "sliding-window",
            "sliding-window: 10 per 10 s, in slots of 2 s",
            Limit::sliding_window("a", 10, ten, seconds(2)).build()?,
        ),
        ("sliding-counter", "sliding-counter: 10 per 10 s", Limit::sliding_counter("a", 10, ten).build()?),
        ("sliding-log", "sliding-log: 10 per 10 s", Limit::sliding_log("a", 10, ten).build()?),
        ("decay", "decay: max 10, halved every 5 s", Limit::decay("a", 10, 2.0, seconds(5)).build()?),
        ("smooth", "smooth: 1 a second, up to 10 s saved up", Limit::smooth("a", 1.0).max_burst(ten).build()?),
        ("smooth-warmup", "smooth: 1 a second, warm-up of 4 s", Limit::smooth("a", 1.0).warmup(seconds(4)).build()?),
    ])
}

fn main() -> Result<(), Box<dyn Error>> {
    let check = env::args().any(|argument| argument == "--check");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    let mut pictures = vec![("waiting", queue::picture()?)];
    for (name, title, limit) in subjects()? {
        let outcome = traffic::decided_by(&limit)?;
        println!(
            "{title}: {} of {} admitted, at most {} in any 10 s",
            outcome.admitted(),
            outcome.len(),
            outcome.most()
        );
        let is_bucket = matches!(limit.kind(), Kind::Bucket(_) | Kind::TokenBucket(_));
        let levels = if is_bucket { traffic::levels(&limit)? } else { Vec::new() };
        pictures.push((name, chart::picture(title, &outcome, &levels)));
    }
    for (name, svg) in pictures {
        let path = folder.join(name).with_extension("svg");
        if !check {
            fs::write(path, svg)?;
        } else if fs::read_to_string(&path)? != svg {
            return Err(format!("{name}.svg is not what the engine does now; draw it again without --check").into());
        }
    }
    Ok(())
}
