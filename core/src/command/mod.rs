//! `tidegate`, the command: limits explained, and tried on the log of a server or in a simulation; entries of a store looked at.
//!
//! The packages for Python and Node run this one. `docs/command.md` says what it does.

mod check;
mod fit;
mod limits;
mod output;
mod overriding;
mod replay;
mod simulate;
mod store;
mod svg;
mod top;
mod words;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use self::output::{Failure, Output};
#[doc(hidden)]
pub use self::top::{BUDGET, ROWS, closest};

/// The command line.
#[derive(Parser)]
#[command(name = "tidegate", version, about = "Rate limits, explained and tried out", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Explains every limit of a file in a sentence, or says what is wrong with it
    Check(check::Options),
    /// Writes another allowance for an actor into a file of limits
    Override(overriding::Options),
    /// Shows whom limits would have denied, by an access log
    Replay(replay::Options),
    /// Finds the limits that agree with the answers of somebody else's API
    Fit(fit::Options),
    /// Shows what limits make of a traffic pattern
    Simulate(simulate::Options),
    /// Shows what an actor has left in limits of a shared store
    Inspect(store::Entries),
    /// Shows the actors of a shared store that are closest to their limits
    Top(top::Options),
    /// Empties an actor's entries in a shared store
    Reset(store::Entries),
    /// Closes limits with a block to an actor for a while, or opens them
    Block(store::Closed),
    /// Asks a shared store whether it decides calls
    Ping(store::Store),
}

/// All is well.
const FINE: u8 = 0;
/// A fault was found.
const FAULTS: u8 = 1;
/// The command could not do what it was asked.
const FAILED: u8 = 2;

/// Runs the command with these arguments, those behind its name, and returns its exit code: 0 when all is well, 1 when
/// what it was shown has faults, 2 when it could not do what it was asked. It prints to this process's output.
///
/// ```
/// assert_eq!(tidegate::command::run(["check", "no-such-file.toml"]), 1);
/// assert_eq!(tidegate::command::run(["fly"]), 2);
/// ```
pub fn run<I>(arguments: I) -> u8
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let arguments = arguments.into_iter().map(Into::into);
    let mut output = Output::new();
    let done = match Arguments::try_parse_from(std::iter::once(OsString::from("tidegate")).chain(arguments)) {
        Ok(arguments) => match &arguments.command {
            Command::Check(options) => check::run(options, &mut output),
            Command::Override(options) => overriding::run(options, &mut output),
            Command::Replay(options) => replay::run(options, &mut output),
            Command::Fit(options) => fit::run(options, &mut output),
            Command::Simulate(options) => simulate::run(options, &mut output),
            Command::Inspect(entries) => store::inspect(entries, &mut output),
            Command::Top(options) => top::run(options, &mut output),
            Command::Reset(entries) => store::reset(entries, &mut output),
            Command::Block(closed) => store::block(closed, &mut output),
            Command::Ping(store) => store::ping(store, &mut output),
        },
        // Help, too, comes as an error.
        Err(error) if error.use_stderr() => Err(Failure::Told(error.to_string())),
        Err(help) => output.print(&help.to_string()).map(|()| FINE),
    };
    match done.and_then(|code| output.flush().map(|()| code)) {
        Ok(code) => code,
        // Whoever read the output has enough of it.
        Err(Failure::Closed) => FINE,
        Err(Failure::Told(message)) => {
            output.tell(&message);
            FAILED
        }
    }
}
