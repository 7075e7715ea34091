//! A server without a framework that limits its clients, and a few requests to it: `cargo run --example http`.
//!
//! Modules for frameworks are made of the same parts: the gate knows the client, the headers and the refusal.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use tidegate::headers::{Header, Policy, Style};
use tidegate::http::{Gate, TrustedProxies};
use tidegate::{Limit, Limiter, Memory};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

struct App {
    gate: Gate,
    limiter: Limiter,
    limit: Limit,
}

impl App {
    fn new() -> Result<Self> {
        let proxies = TrustedProxies::networks(["127.0.0.1"])?;
        Ok(Self {
            gate: Gate::builder().trusted_proxies(proxies).style("ietf".parse::<Style>()?).build()?,
            limiter: Limiter::new(Memory::new()),
            limit: Limit::parse("api", "2/minute")?,
        })
    }

    fn serve(&self, mut stream: TcpStream) -> Result<()> {
        let lines = BufReader::new(&stream).lines().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()));
        let lines = lines.collect::<std::io::Result<Vec<_>>>()?;
        let all = |name: &str| -> Vec<String> {
            let fields = lines.iter().filter_map(|line| line.split_once(':'));
            let named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.trim().to_owned()).collect()
        };

        let peer = stream.peer_addr()?.to_string();
        let client = self.gate.client(Some(&peer), &all(self.gate.header_name()))?;
        let info = self.limiter.limit_sync(&self.limit, &client.actor)?;
        let answers = [Policy::new(self.limit.key(), &info)];
        let (status, headers, body) = if info.allowed() {
            (200, self.gate.headers(&answers, 200), "hello\n".to_owned())
        } else {
            let refusal = self.gate.refusal(&answers, &all("accept"), None);
            (refusal.status, refusal.headers, refusal.body)
        };
        stream.write_all(response(status, &headers, &body).as_bytes())?;
        Ok(())
    }
}

fn response(status: u16, headers: &[Header], body: &str) -> String {
    let mut lines = vec![format!("HTTP/1.1 {status} "), format!("Content-Length: {}", body.len())];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push("Connection: close".to_owned());
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

fn get(server: SocketAddr, client: &str) -> Result<String> {
    let mut stream = TcpStream::connect(server)?;
    write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {client}\r\nAccept: text/plain\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn main() -> Result<()> {
    let app = App::new()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            if let Err(error) = stream.map_err(Into::into).and_then(|stream| app.serve(stream)) {
                eprintln!("a request failed: {error}");
            }
        }
    });

    let clients = ["203.0.113.9", "203.0.113.9", "203.0.113.9", "198.51.100.7"];
    for (client, status) in clients.into_iter().zip(["200", "200", "429", "200"]) {
        let response = get(address, client)?;
        println!("{client}:\n{response}");
        assert_eq!(response.split(' ').nth(1), Some(status));
    }
    Ok(())
}
