//! A server that says what a test wants to hear.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// The answer to a command; nothing leaves it unanswered. The number counts the script calls on its connection,
/// of which the first belongs to the handshake.
type Answers = dyn Fn(&[String], usize) -> Option<String> + Send + Sync;

/// The stream of a connection; none where the two do not agree on one.
type Streams = dyn Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + Sync;

pub(crate) trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

pub(crate) struct Fake {
    pub(crate) port: u16,
}

impl Fake {
    /// Greets like a server that is well, and answers the rest as it is told.
    pub(crate) fn start(answers: impl Fn(&[String], usize) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::over(|client| Some(Box::new(client)), "", answers)
    }

    /// The same over streams like these; and each of its answers is followed by `tail`, again and again, for as long as
    /// somebody reads.
    pub(crate) fn over(
        streams: impl Fn(TcpStream) -> Option<Box<dyn Stream>> + Send + Sync + 'static,
        tail: &'static str,
        answers: impl Fn(&[String], usize) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (answers, streams): (Arc<Answers>, Arc<Streams>) = (Arc::new(answers), Arc::new(streams));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (answers, streams) = (answers.clone(), streams.clone());
                thread::spawn(move || streams(client).map(|client| serve(client, tail, &*answers)));
            }
        });
        Self { port }
    }
}

fn serve(client: Box<dyn Stream>, tail: &str, answers: &Answers) {
    let mut client = BufReader::new(client);
    let mut calls = 0;
    while let Some(words) = command(&mut client) {
        let (answer, is_own) = match words[0].as_str() {
            "EVALSHA" | "EVAL" if calls == 0 => {
                calls += 1;
                (Some("-ERR not now\r\n".to_owned()), true)
            }
            "EVALSHA" | "EVAL" => {
                calls += 1;
                (answers(&words, calls), false)
            }
            "CLUSTER" => (answers(&words, calls), false),
            "TIME" => (Some("*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n".to_owned()), true),
            _ => (Some("+OK\r\n".to_owned()), true),
        };
        let Some(answer) = answer else { continue };
        let mut write = |bytes: &str| client.get_mut().write_all(bytes.as_bytes()).is_ok();
        if !write(&answer) {
            return;
        }
        while !is_own && !tail.is_empty() {
            if !write(tail) {
                return;
            }
        }
    }
}

fn command(reader: &mut impl std::io::BufRead) -> Option<Vec<String>> {
    let mut number = |kind: char| {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.trim_end().strip_prefix(kind)?.parse::<usize>().ok()
    };
    let words = number('*')?;
    let mut command = Vec::with_capacity(words);
    for _ in 0..words {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length: usize = line.trim_end().strip_prefix('$')?.parse().ok()?;
        let mut word = vec![0; length + 2];
        reader.read_exact(&mut word).ok()?;
        command.push(String::from_utf8_lossy(&word[..length]).into_owned());
    }
    Some(command)
}
