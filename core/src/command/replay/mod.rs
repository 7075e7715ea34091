//! `tidegate replay`: limits tried on the requests of an access log.

mod actors;
mod candidate;
mod html;
pub(super) mod instant;
pub(super) mod line;
mod log;
mod options;
mod report;
mod smallest;
pub(super) mod source;
mod spool;
mod text;
mod timeline;

use std::fs;

use self::log::Replay;
pub(super) use self::options::Options;
use self::report::Report;
use self::spool::Spool;
use super::FINE;
use super::limits::Set;
use super::output::{Done, Failure, Output};

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let sets = options.limits.iter().map(|name| Set::read(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(limit) = sets.iter().flat_map(|set| &set.limits).find(|limit| limit.holds()) {
        let problem = "is of type concurrency: a log does not say when a request ended";
        return Err(Failure::of(&format!("limit {:?}", limit.key()), problem));
    }
    let spool = if options.no_smallest { None } else { Some(Spool::create()?) };
    let mut replay = Replay::new(sets, spool);
    replay.read(options)?;
    let report = Report::of(options, replay)?;
    if let Some(path) = &options.html {
        fs::write(path, html::page(&report)).map_err(|error| Failure::of(path, error))?;
    }
    if options.json {
        let json = serde_json::to_string(&report).map_err(|error| Failure::of("report", error))?;
        output.print(&json)?;
    } else {
        output.print(&text::told(&report))?;
    }
    Ok(FINE)
}
