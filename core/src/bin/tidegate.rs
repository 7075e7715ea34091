//! The command `tidegate`; the packages of Python and Node have the same one.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tidegate::command::run(std::env::args_os().skip(1)))
}
