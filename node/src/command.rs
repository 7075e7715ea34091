//! The command `tidegate`, which is the engine's.

use napi_derive::napi;

/// Runs the command with the arguments behind its name, and returns its exit code.
#[napi(catch_unwind)]
pub(crate) fn run_command(command_line: Vec<String>) -> u32 {
    tidegate::command::run(command_line).into()
}
