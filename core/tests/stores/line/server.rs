//! A store of values that speaks lines of text over TCP. It knows no limits: it keeps bytes under names, and changes
//! several at once if nobody has changed them in between.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The entries, each with its version; 0 is the version of none.
#[derive(Default)]
struct Entries {
    kept: HashMap<String, Entry>,
    last_version: u64,
}

struct Entry {
    version: u64,
    value: String,
    /// The instant from which it is gone.
    until: u64,
}

pub(crate) struct LineServer {
    pub(crate) port: u16,
}

impl LineServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let entries: Arc<Mutex<Entries>> = Arc::default();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let entries = entries.clone();
                thread::spawn(move || serve(client, &entries));
            }
        });
        Self { port }
    }
}

fn serve(mut client: TcpStream, entries: &Mutex<Entries>) {
    let _ = client.set_nodelay(true);
    let reader = BufReader::new(client.try_clone().expect("a stream"));
    for line in reader.lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let reply = entries.lock().expect("a lock").answer(&words, now());
        if writeln!(client, "{}", reply.unwrap_or_else(|| "WHAT".to_owned())).is_err() {
            return;
        }
    }
}

/// Microseconds since the Unix epoch.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    u64::try_from(now.as_micros()).expect("this millennium")
}

impl Entries {
    /// - `READ name…` is answered by `VALUES now`, and the version and the value of each, `0 -` where there is none.
    /// - `SWAP until name…` is answered by `DONE`; by `LATE` after that instant; or by `MOVED` if one has another
    ///   version. Each name is followed by its version, its new value (`-` for none, `=` for the same) and its time to
    ///   live.
    /// - `CLEAR prefix` is answered by `REMOVED` and a number.
    fn answer(&mut self, words: &[&str], now: u64) -> Option<String> {
        self.kept.retain(|_, entry| entry.until > now);
        match words {
            ["READ", names @ ..] => {
                let read = |name: &&str| match self.kept.get(*name) {
                    Some(Entry { version, value, .. }) => format!(" {version} {value}"),
                    None => " 0 -".to_owned(),
                };
                Some(format!("VALUES {now}{}", names.iter().map(read).collect::<String>()))
            }
            ["SWAP", until, changes @ ..] => {
                let (changes, []) = changes.as_chunks::<4>() else { return None };
                let is_as_read = |[name, version, ..]: &[&str; 4]| {
                    *version == self.kept.get(*name).map_or(0, |entry| entry.version).to_string()
                };
                if now >= until.parse().ok()? {
                    return Some("LATE".to_owned());
                }
                if !changes.iter().all(is_as_read) {
                    return Some("MOVED".to_owned());
                }
                for [name, _, value, lasts] in changes.iter().filter(|[_, _, value, _]| *value != "=") {
                    self.change(name, value, now.saturating_add(lasts.parse().ok()?));
                }
                Some("DONE".to_owned())
            }
            ["CLEAR", prefix] => {
                let before = self.kept.len();
                self.kept.retain(|name, _| !name.starts_with(prefix));
                Some(format!("REMOVED {}", before - self.kept.len()))
            }
            _ => None,
        }
    }

    fn change(&mut self, name: &str, value: &str, until: u64) {
        self.last_version += 1;
        let entry = Entry { version: self.last_version, value: value.to_owned(), until };
        if value == "-" {
            self.kept.remove(name)
        } else {
            self.kept.insert(name.to_owned(), entry)
        };
    }
}
