//! The options of a replay.

use clap::Args;

use super::line::Format;

#[derive(Args)]
pub(in crate::command) struct Options {
    /// The log: a file, also one compressed by gzip, or - for standard input
    pub(super) file: String,
    /// Limits as text ("100/minute; 10/second"), in the wire form, or a file of limits; once for each candidate
    #[arg(long, required = true, value_name = "LIMITS")]
    pub(super) limits: Vec<String>,
    /// The format of the log, where its first line does not tell: common (also combined), json or csv
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,
    /// The field of JSON or CSV that names the client
    #[arg(long, value_name = "FIELD")]
    pub(super) actor: Option<String>,
    /// The field of JSON or CSV that holds the instant
    #[arg(long, value_name = "FIELD")]
    pub(super) time: Option<String>,
    /// Looks for the smallest limit that denies at most this percentage of clients
    #[arg(long, default_value_t = 0.1, value_name = "PERCENT", value_parser = percentage)]
    pub(super) share: f64,
    /// Does not look for it, which takes a copy of the log's instants on the disk
    #[arg(long)]
    pub(super) no_smallest: bool,
    /// Prints the report as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Writes the report with pictures to this file
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<String>,
}

fn percentage(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| "must be a percentage from 0 to 100".to_owned())
}
