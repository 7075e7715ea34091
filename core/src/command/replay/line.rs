//! Lines of logs: the instant and the actor of each.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::instant::{common, instant, number};
use crate::time::Micros;

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::command) enum Format {
    /// Apache's and nginx's: `host ident user [time] "request" status bytes`, whatever follows.
    Common,
    /// An object in each line.
    Json,
    /// With the names of its columns in the first line.
    Csv,
}

/// Fields that hold an actor and an instant in most logs, the likeliest first.
const ACTORS: [&str; 11] = [
    "actor",
    "client_ip",
    "clientip",
    "remote_addr",
    "remote_ip",
    "clientIp",
    "remoteAddr",
    "ip",
    "client",
    "remote",
    "host",
];
const TIMES: [&str; 9] =
    ["time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec", "datetime", "date"];

/// One request, as far as it concerns a limit.
pub(in crate::command) struct Request<'a> {
    pub(in crate::command) at: Micros,
    pub(in crate::command) actor: Cow<'a, str>,
}

/// Reads the lines of one log.
pub(in crate::command) struct Reader {
    format: Option<Format>,
    actor: Vec<String>,
    time: Vec<String>,
    /// Of a CSV with its header read: the columns of the actor and of the instant.
    columns: Option<(usize, usize)>,
}

/// The meaning of a line.
pub(in crate::command) enum Line<'a> {
    Request(Request<'a>),
    /// Names of columns, or nothing at all.
    Nothing,
    Malformed,
}

impl Reader {
    /// For this format, or whichever the first line has; with these fields in place of the usual ones.
    pub(in crate::command) fn new(format: Option<Format>, actor: Option<&str>, time: Option<&str>) -> Self {
        let or = |given: Option<&str>, usual: &[&str]| match given {
            Some(name) => vec![name.to_owned()],
            None => usual.iter().map(ToString::to_string).collect(),
        };
        Self { format, actor: or(actor, &ACTORS), time: or(time, &TIMES), columns: None }
    }

    /// True if its lines have fields with names.
    pub(in crate::command) const fn has_names(&self) -> bool {
        matches!(self.format, Some(Format::Json | Format::Csv))
    }

    pub(in crate::command) fn read<'a>(&mut self, line: &'a [u8]) -> Line<'a> {
        let Ok(line) = std::str::from_utf8(line) else { return Line::Malformed };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            return Line::Nothing;
        }
        let format = *self.format.get_or_insert_with(|| match line.as_bytes().first() {
            Some(b'{') => Format::Json,
            _ if common_line(line).is_none() && line.contains(',') => Format::Csv,
            _ => Format::Common,
        });
        let request = match format {
            Format::Common => common_line(line),
            Format::Json => self.json(line),
            Format::Csv => match self.columns {
                Some(columns) => csv_line(line, columns),
                None => return self.header(line),
            },
        };
        match request {
            // No limiter takes any other as an actor.
            Some(request) if !request.actor.is_empty() && request.actor.len() <= LONGEST => Line::Request(request),
            _ => Line::Malformed,
        }
    }

    fn header<'a>(&mut self, line: &str) -> Line<'a> {
        let names: Vec<_> = Cells(Some(line)).map(|name| name.trim().to_owned()).collect();
        let column = |wanted: &[String]| wanted.iter().find_map(|name| names.iter().position(|known| known == name));
        self.columns = column(&self.actor).zip(column(&self.time));
        if self.columns.is_some() { Line::Nothing } else { Line::Malformed }
    }

    fn json<'a>(&self, line: &'a str) -> Option<Request<'a>> {
        let mut deserializer = serde_json::Deserializer::from_str(line);
        let (actor, at) = Fields(self).deserialize(&mut deserializer).ok()?;
        deserializer.end().ok()?;
        Some(Request { at: at?, actor: actor? })
    }
}

/// An actor may be as long as the store takes it.
const LONGEST: usize = 65_536;

fn common_line(line: &str) -> Option<Request<'_>> {
    let actor = line.split(' ').next()?;
    let (_, rest) = line.split_once(" [")?;
    let at = common(rest.get(..26)?)?;
    rest.get(26..)?.starts_with(']').then_some(Request { at, actor: Cow::Borrowed(actor) })
}

fn csv_line(line: &str, (actor, time): (usize, usize)) -> Option<Request<'_>> {
    let (mut of_actor, mut of_time) = (None, None);
    for (index, cell) in Cells(Some(line)).enumerate().take(actor.max(time) + 1) {
        if index == actor {
            of_actor = Some(cell.clone());
        }
        if index == time {
            of_time = Some(cell);
        }
    }
    Some(Request { at: instant(&of_time?)?, actor: of_actor? })
}

/// The cells of a line of RFC 4180.
struct Cells<'a>(Option<&'a str>);

impl<'a> Iterator for Cells<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        let line = self.0?;
        let Some(quoted) = line.strip_prefix('"') else {
            let (cell, rest) = line.split_once(',').map_or((line, None), |(cell, rest)| (cell, Some(rest)));
            self.0 = rest;
            return Some(Cow::Borrowed(cell));
        };
        let mut from = 0;
        let end = loop {
            let Some(quote) = quoted.get(from..).and_then(|rest| rest.find('"')) else { break quoted.len() };
            match quoted.as_bytes().get(from + quote + 1) {
                Some(b'"') => from += quote + 2,
                _ => break from + quote,
            }
        };
        let rest = quoted.get(end..).unwrap_or_default().trim_start_matches('"');
        self.0 = rest.split_once(',').map(|(_, rest)| rest);
        let cell = quoted.get(..end).unwrap_or_default();
        Some(if cell.contains('"') { cell.replace("\"\"", "\"").into() } else { cell.into() })
    }
}

/// The actor and the instant of an object, of the likeliest fields that it has; everything else is skipped.
struct Fields<'r>(&'r Reader);

type ActorAndTime<'de> = (Option<Cow<'de, str>>, Option<Micros>);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ActorAndTime<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ActorAndTime<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut actor, mut at) = ((usize::MAX, None), (usize::MAX, None));
        while let Some(Text(name)) = members.next_key::<Text<'de>>()? {
            let rank = |names: &[String]| names.iter().position(|known| *known == name);
            if let Some(rank) = rank(&self.0.actor).filter(|rank| *rank < actor.0) {
                actor = (rank, members.next_value::<Scalar<'de>>()?.text());
            } else if let Some(rank) = rank(&self.0.time).filter(|rank| *rank < at.0) {
                at = (rank, members.next_value::<Scalar<'de>>()?.instant());
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok((actor.1, at.1))
    }
}

/// Text that is borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Scalar<'a> {
    Number(f64),
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Other(IgnoredAny),
}

impl<'a> Scalar<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            // The number of a user.
            Self::Number(value) => Some(Cow::Owned(value.to_string())),
            Self::Other(_) => None,
        }
    }

    fn instant(self) -> Option<Micros> {
        match self {
            Self::Text(text) => instant(&text),
            Self::Number(value) => number(value),
            Self::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Reader};

    fn read(lines: &[&str]) -> Vec<Option<(u64, String)>> {
        let mut reader = Reader::new(None, None, None);
        let read = |line: &&str| match reader.read(line.as_bytes()) {
            Line::Request(request) => Some((request.at / 1_000_000, request.actor.into_owned())),
            Line::Nothing | Line::Malformed => None,
        };
        lines.iter().map(read).collect()
    }

    #[test]
    fn each_format_is_known_by_its_first_line() {
        let found = Some((971_211_336, "192.0.2.7".to_owned()));
        let combined = r#"192.0.2.7 - ada [10/Oct/2000:13:55:36 -0700] "GET /a[1] HTTP/1.0" 200 2326 "-" "x""#;
        assert_eq!(read(&[combined, "nonsense"]), [found.clone(), None]);
        let json = r#"{"status":200,"nested":{"ip":"no"},"ip":"no","remote_addr":"192.0.2.7","time":971211336.4}"#;
        assert_eq!(read(&[json, "{", "[]", r#"{"time":1}"#]), [found.clone(), None, None, None]);
        let csv = ["time,path,client", r#"2000-10-10T20:55:36Z,"/a,""b""",192.0.2.7"#, "x,y,z", "1"];
        assert_eq!(read(&csv), [None, found, None, None]);
    }

    #[test]
    fn no_bytes_are_a_panic() {
        for format in [None, Some(super::Format::Csv), Some(super::Format::Json), Some(super::Format::Common)] {
            let mut reader = Reader::new(format, None, None);
            for line in
                ["actor,time", "\"", "\"\"\"", "\"a\"b,\"c", ",,,", "é [é", "a [10/Oct/2000:13:55:36 -070é] x", "\0"]
            {
                for end in 0..=line.len() {
                    let _ = reader.read(line.as_bytes().get(..end).unwrap_or_default());
                }
            }
            assert!(matches!(reader.read(b"\xff\xfe"), Line::Malformed));
        }
    }
}
