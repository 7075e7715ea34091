//! The output of the command, and its end.

use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write as _};

/// The end of a command that could not do what it was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// The reason.
    Told(String),
    /// Nobody reads the output any more.
    Closed,
}

impl Failure {
    /// A failure of this file.
    pub(super) fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self::Told(format!("{name}: {problem}"))
    }
}

/// The exit code, where there is one.
pub(super) type Done = Result<u8, Failure>;

/// Standard output, and beside it the one for errors.
pub(super) struct Output(BufWriter<Stdout>);

impl Output {
    pub(super) fn new() -> Self {
        Self(BufWriter::new(io::stdout()))
    }

    /// Prints a text that ends in a line of its own.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.0
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { self.0.write_all(b"\n") })
            .map_err(closed)
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(closed)
    }

    /// Tells something that is no part of the output.
    pub(super) fn tell(&mut self, message: &str) {
        // Where nobody reads errors either, nobody is left to be told.
        let _ = self.0.flush();
        let _ = writeln!(io::stderr(), "{}", message.trim_end());
    }
}

fn closed(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::of("output", error),
    }
}
