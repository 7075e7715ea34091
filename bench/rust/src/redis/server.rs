//! The server, as it is asked about itself.

use std::process::Command;

use redis::{Client, Connection, FromRedisValue, Pipeline};

use crate::Result;

pub(crate) struct Server {
    url: String,
    pid: u32,
    connection: Connection,
}

/// The counts of a server since they were last reset.
pub(crate) struct Statistics(String);

/// A server that is stopped; it goes on when this is dropped.
pub(crate) struct Stopped<'a>(&'a Server);

impl Server {
    pub(crate) fn new(url: &str, pid: u32) -> Result<Self> {
        let connection = Client::open(url)?.get_connection()?;
        let mut server = Self { url: url.to_owned(), pid, connection };
        // A signal to any other process would do harm.
        let statistics = server.statistics()?;
        let told = statistics.word("process_id:")?;
        if told != pid.to_string() {
            return Err(format!("the server at {url} says that its process is {told}, not {pid}").into());
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> Result<T> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        Ok(command.query(&mut self.connection)?)
    }

    pub(crate) fn ask_all<T: FromRedisValue>(&mut self, questions: &Pipeline) -> Result<T> {
        Ok(questions.query(&mut self.connection)?)
    }

    pub(crate) fn reset_statistics(&mut self) -> Result<()> {
        self.ask(&["CONFIG", "RESETSTAT"])
    }

    pub(crate) fn statistics(&mut self) -> Result<Statistics> {
        Ok(Statistics(self.ask(&["INFO", "all"])?))
    }

    /// It neither answers nor hangs up.
    pub(crate) fn stop(&self) -> Result<Stopped<'_>> {
        self.signal("STOP")?;
        Ok(Stopped(self))
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.pid)]).status()?;
        if status.success() { Ok(()) } else { Err(format!("kill -{signal}: {status}").into()) }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.signal("CONT") {
            eprintln!("the server stays stopped: {error}");
        }
    }
}

impl Statistics {
    /// The digits that follow this.
    fn word(&self, label: &str) -> Result<&str> {
        let (_, rest) = self.0.split_once(label).ok_or_else(|| format!("the server says nothing of {label}"))?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Ok(&rest[..end])
    }

    fn number(&self, label: &str) -> Result<f64> {
        Ok(self.word(label)?.parse()?)
    }

    /// The number of calls of a script.
    pub(crate) fn evalsha_calls(&self) -> Result<f64> {
        self.number("cmdstat_evalsha:calls=")
    }

    /// The time of a call of a script.
    pub(crate) fn evalsha_micros(&self) -> Result<f64> {
        Ok(self.evalsha_total_micros()? / self.evalsha_calls()?)
    }

    /// The time of all calls of a script.
    pub(crate) fn evalsha_total_micros(&self) -> Result<f64> {
        self.of("cmdstat_evalsha:", "usec=")
    }

    /// The time of a call of a script that was sent with it.
    pub(crate) fn eval_micros(&self) -> Result<f64> {
        self.of("cmdstat_eval:", "usec_per_call=")
    }

    fn of(&self, command: &str, name: &str) -> Result<f64> {
        let (_, rest) = self.0.split_once(command).ok_or("no script was called")?;
        Self(rest.to_owned()).number(name)
    }

    /// The number of reads from connections, without the one that asks for it.
    pub(crate) fn reads(&self) -> Result<f64> {
        Ok(self.number("total_reads_processed:")? - 1.0)
    }

    /// The bytes that it has in use.
    pub(crate) fn memory(&self) -> Result<f64> {
        self.number("used_memory:")
    }
}
