//! The addresses that proxies have noted in a header, from the last one back.
//!
//! A client may send the header itself, and proxies append to it: only the right end is theirs. So it is read from
//! there, element by element, and no further than needed; nothing on the left changes what was read on the right.

use std::net::IpAddr;

use super::address::address;

/// The bytes that are looked at, from the right. A proxy's own part is far shorter.
const MOST_BYTES: usize = 16 * 1024;

/// The grammar of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Addresses with commas between them, as in `X-Forwarded-For`.
    List,
    /// RFC 7239: `for=203.0.113.9;proto=https, for="[2001:db8::1]:80"`.
    Forwarded,
}

/// A walk from the last element of all lines to the first.
pub(crate) struct Walk<'a, L> {
    lines: &'a [L],
    /// The rest of the line that is being read.
    rest: Option<&'a [u8]>,
    budget: usize,
    grammar: Grammar,
}

impl<'a, L: AsRef<[u8]>> Walk<'a, L> {
    pub(crate) fn new(lines: &'a [L], grammar: Grammar) -> Self {
        Self { lines, rest: None, budget: MOST_BYTES, grammar }
    }

    /// The address in the next element to the left; none at the end, and where an element has none that can be read.
    pub(crate) fn next(&mut self) -> Option<IpAddr> {
        loop {
            let line = if let Some(rest) = self.rest.take() {
                rest
            } else {
                let (last, before) = self.lines.split_last()?;
                self.lines = before;
                last.as_ref()
            };
            // An empty line costs something too, or there could be any number of them.
            self.budget = self.budget.checked_sub(1)?;
            let seen = line.len().min(self.budget);
            let tail = &line[line.len() - seen..];
            let comma = match self.grammar {
                Grammar::List => tail.iter().rposition(|byte| *byte == b','),
                Grammar::Forwarded => last_comma(tail).ok()?,
            };
            let element = match comma {
                Some(at) => {
                    self.rest = Some(&line[..line.len() - seen + at]);
                    &tail[at + 1..]
                }
                None if seen < line.len() => return None,
                None => tail,
            };
            self.budget = self.budget.checked_sub(element.len())?;
            let element = element.trim_ascii();
            // Empty elements are no elements.
            if !element.is_empty() {
                return match self.grammar {
                    Grammar::List => address(element),
                    Grammar::Forwarded => node(element),
                };
            }
        }
    }
}

/// A quoted string that does not begin, or does not end.
#[derive(Debug)]
struct OpenQuote;

/// The last comma that is not inside a quoted string.
fn last_comma(text: &[u8]) -> Result<Option<usize>, OpenQuote> {
    let mut quoted = false;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b'"' => {
                let escapes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                if escapes % 2 == 0 {
                    quoted = !quoted;
                } else if !quoted {
                    return Err(OpenQuote);
                }
            }
            b',' if !quoted => return Ok(Some(at)),
            _ => {}
        }
    }
    if quoted { Err(OpenQuote) } else { Ok(None) }
}

/// The address in the only `for` of an element.
fn node(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    let mut rest = element;
    loop {
        let (pair, behind) = first_pair(rest)?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
        match behind {
            Some(behind) => rest = behind,
            None => return address(&unescaped(found?)),
        }
    }
}

/// Up to the first semicolon that is not inside a quoted string, and what follows it.
fn first_pair(text: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' if !quoted => return Some((&text[..at], Some(&text[at + 1..]))),
            _ => {}
        }
    }
    (!quoted).then_some((text, None))
}

/// A value in which no character is escaped; no address needs it, but any may be.
fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut escaped = false;
    let keep = |byte: &&u8| {
        escaped = **byte == b'\\' && !escaped;
        !escaped
    };
    value.iter().filter(keep).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(lines: &[&str], grammar: Grammar) -> Vec<String> {
        let mut walk = Walk::new(lines, grammar);
        std::iter::from_fn(|| walk.next()).map(|address| address.to_string()).collect()
    }

    #[test]
    fn a_list_from_its_end() {
        let list = |lines: &[&str]| walked(lines, Grammar::List);
        assert_eq!(list(&["198.51.100.1, 203.0.113.9 ,10.0.0.1"]), ["10.0.0.1", "203.0.113.9", "198.51.100.1"]);
        assert_eq!(list(&["198.51.100.1", "203.0.113.9, 10.0.0.1"]), ["10.0.0.1", "203.0.113.9", "198.51.100.1"]);
        assert_eq!(list(&["198.51.100.1,, ,", "", "10.0.0.1"]), ["10.0.0.1", "198.51.100.1"]);
        assert_eq!(list(&["198.51.100.1, garbage, 10.0.0.1"]), ["10.0.0.1"]);
        assert!(list(&[]).is_empty() && list(&["", ",,,"]).is_empty());
    }

    #[test]
    fn forwarded_from_its_end() {
        let forwarded = |lines: &[&str]| walked(lines, Grammar::Forwarded);
        let v6 = r#"For="[2001:db8:cafe::17]:4711";host="a,b;c\"d";proto=https"#;
        assert_eq!(forwarded(&[&format!("for=192.0.2.43, {v6}")]), ["2001:db8:cafe::17", "192.0.2.43"]);
        assert_eq!(forwarded(&[r#"by=203.0.113.43;FOR = "192.0.2.4\3:80""#]), ["192.0.2.43"]);
        assert_eq!(forwarded(&["for=192.0.2.43", "for=10.0.0.1"]), ["10.0.0.1", "192.0.2.43"]);
        for unreadable in
            ["for=unknown", "for=_hidden", "by=10.0.0.1", "for=10.0.0.2;for=10.0.0.3", "10.0.0.2", "for=\""]
        {
            assert_eq!(
                forwarded(&[&format!("for=192.0.2.1, {unreadable}, for=10.0.0.1")]),
                ["10.0.0.1"],
                "{unreadable}"
            );
        }
    }

    #[test]
    fn quotes_on_the_left_hide_nothing_on_the_right() {
        for left in ["for=\"", "for=\"x", "for=\"\\", "\"", "for=\"a\\\"", "\\\""] {
            let line = format!("{left}, for=192.0.2.1, for=\"[2001:db8::1]\"");
            assert_eq!(walked(&[&line], Grammar::Forwarded)[..2], ["2001:db8::1", "192.0.2.1"], "{left}");
        }
    }

    #[test]
    fn a_megabyte_is_not_read() {
        for grammar in [Grammar::List, Grammar::Forwarded] {
            let element = if grammar == Grammar::List { "10.0.0.1," } else { "for=10.0.0.1," };
            let many = element.repeat(1 << 17);
            assert!(walked(&[&many], grammar).len() < MOST_BYTES / 8);
            assert!(walked(&vec![""; 1 << 20], grammar).is_empty());
            assert!(walked(&[&",".repeat(1 << 20)], grammar).is_empty());
            assert!(walked(&[&"x".repeat(1 << 20)], grammar).is_empty());
            assert!(walked(&[&"\"".repeat(1 << 20)], grammar).is_empty());
            assert!(walked(&[&format!("{}\"", "\\".repeat(1 << 20))], grammar).is_empty());
        }
    }
}
