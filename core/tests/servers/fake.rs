//! A server that says what a test wants to hear.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// The answer to a command; nothing leaves it unanswered. The number counts the script calls on its connection,
/// of which the first belongs to the greeting.
type Answers = dyn Fn(&[String], usize) -> Option<String> + Send + Sync;

pub(crate) struct Fake {
    pub(crate) port: u16,
}

impl Fake {
    /// Greets like a server that is well, and answers the rest as it is told.
    pub(crate) fn start(answers: impl Fn(&[String], usize) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let answers: Arc<Answers> = Arc::new(answers);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let answers = answers.clone();
                thread::spawn(move || serve(client, &*answers));
            }
        });
        Self { port }
    }
}

fn serve(mut client: TcpStream, answers: &Answers) {
    let mut reader = BufReader::new(client.try_clone().expect("a stream"));
    let mut calls = 0;
    while let Some(words) = command(&mut reader) {
        let answer = match words[0].as_str() {
            "EVALSHA" | "EVAL" => {
                calls += 1;
                if calls == 1 { Some("-ERR not now\r\n".to_owned()) } else { answers(&words, calls) }
            }
            "TIME" => Some("*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n".to_owned()),
            "CLUSTER" => answers(&words, calls),
            _ => Some("+OK\r\n".to_owned()),
        };
        if answer.is_some_and(|answer| client.write_all(answer.as_bytes()).is_err()) {
            return;
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
