//! Structured fields (RFC 9651) as far as rate limits use them, read with tolerance: what is malformed is passed over.

/// A member of a list or a dictionary.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// A member of a list, or of a dictionary under its key.
    pub(crate) head: Bare,
    /// A dictionary's value.
    pub(crate) value: Option<Bare>,
    pub(crate) params: Vec<(String, Bare)>,
}

/// A value without its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Bare {
    Text(String),
    /// A number, a token or a key.
    Word(String),
    /// In base64.
    Bytes(String),
}

impl Default for Bare {
    fn default() -> Self {
        Self::Word(String::new())
    }
}

impl Bare {
    /// A whole number; below zero it is 0, and a fraction is cut off.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Word(word) => whole(word),
            _ => None,
        }
    }
}

/// The most members and parameters that are read of one field.
const MOST: usize = 128;

/// The members of a field, in order.
pub(crate) fn members(field: &str) -> Vec<Member> {
    let mut scan = Scan(field);
    let mut members = Vec::new();
    while members.len() < MOST && scan.more() {
        members.extend(scan.member());
    }
    members
}

/// A number at the start of a text, as whole units.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    if digits.is_empty() || !digits.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let add = |number: u64, digit: u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(if negative { 0 } else { digits.bytes().fold(0, add) })
}

struct Scan<'a>(&'a str);

impl Scan<'_> {
    /// Something other than spaces and commas is left.
    fn more(&mut self) -> bool {
        self.0 = self.0.trim_start_matches([' ', '\t', ',']);
        !self.0.is_empty()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let found = rest.strip_prefix(wanted);
        self.0 = found.unwrap_or(rest);
        found.is_some()
    }

    /// The next member; none if it is malformed, and then the scan is behind it.
    fn member(&mut self) -> Option<Member> {
        let mut read = || {
            let mut member = Member { head: self.bare()?, ..Member::default() };
            if self.eat('=') {
                member.value = Some(self.bare()?);
            }
            while self.eat(';') {
                let Bare::Word(name) = self.bare()? else { return None };
                let value = if self.eat('=') { self.bare()? } else { Bare::default() };
                if member.params.len() < MOST {
                    member.params.push((name.to_ascii_lowercase(), value));
                }
            }
            Some(member)
        };
        let member = read();
        let is_whole = self.0.trim_start_matches([' ', '\t']).is_empty() || self.eat(',');
        if !is_whole {
            let end = self.0.find(',').map_or(self.0.len(), |comma| comma + 1);
            self.0 = &self.0[end..];
        }
        member.filter(|_| is_whole)
    }

    fn bare(&mut self) -> Option<Bare> {
        self.0 = self.0.trim_start_matches([' ', '\t']);
        if let Some(rest) = self.0.strip_prefix('"') {
            let mut text = String::new();
            let mut escaped = false;
            for (at, c) in rest.char_indices() {
                match c {
                    _ if escaped => {
                        text.push(c);
                        escaped = false;
                    }
                    '\\' => escaped = true,
                    '"' => {
                        self.0 = &rest[at + 1..];
                        return Some(Bare::Text(text));
                    }
                    _ => text.push(c),
                }
            }
            return None;
        }
        if let Some(rest) = self.0.strip_prefix(':') {
            let (bytes, behind) = rest.split_once(':')?;
            self.0 = behind;
            return Some(Bare::Bytes(bytes.to_owned()));
        }
        // Text of RFC 9651 for people to read, which no field of ours has.
        if let Some(rest) = self.0.strip_prefix("%\"") {
            let (encoded, behind) = rest.split_once('"')?;
            self.0 = behind;
            return Some(Bare::Bytes(encoded.to_owned()));
        }
        let end = self.0.find([' ', '\t', ',', ';', '=', '"']).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then(|| Bare::Word(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Bare {
        Bare::Word(text.to_owned())
    }

    #[test]
    fn members_with_parameters() {
        let [first, second] = &members("\"a \\\"b\\\\, c\"; q = 10;w=5 ;pk=:cHs=:, other;X")[..] else { panic!("two") };
        assert_eq!(first.head, Bare::Text("a \"b\\, c".to_owned()));
        let pk = Bare::Bytes("cHs=".to_owned());
        assert_eq!(first.params, [("q".to_owned(), word("10")), ("w".to_owned(), word("5")), ("pk".to_owned(), pk)]);
        assert_eq!((&second.head, &second.params[..]), (&word("other"), &[("x".to_owned(), word(""))][..]));
    }

    #[test]
    fn a_parameter_of_every_type_is_passed_over() {
        let field = r#""a";q=1;x=%"f%c3%bc, r";y=@1659578233;z=:YQ==:;w=?1;v=-1.5;u="b;c";t=*tok/en:1, "b";q=2"#;
        let names: Vec<_> = members(field).into_iter().map(|member| (member.head, member.params.len())).collect();
        assert_eq!(names, [(Bare::Text("a".to_owned()), 8), (Bare::Text("b".to_owned()), 1)]);
    }

    #[test]
    fn a_dictionary() {
        let read: Vec<_> = members("limit=10, remaining=9,reset = 1").into_iter().map(|m| (m.head, m.value)).collect();
        let of = |name, number| (word(name), Some(word(number)));
        assert_eq!(read, [of("limit", "10"), of("remaining", "9"), of("reset", "1")]);
    }

    #[test]
    fn what_is_malformed_is_passed_over() {
        for (field, names) in [
            ("a b, c", &["c"][..]),
            ("a;=, c", &["c"]),
            ("a;\"x\", c", &["c"]),
            ("\"open, c", &["c"]),
            (",,c,,", &["c"]),
            ("a=, c", &["c"]),
            ("=x, c", &["c"]),
            (":open, c", &["c"]),
            ("", &[]),
        ] {
            let read: Vec<_> = members(field).into_iter().map(|member| member.head).collect();
            assert_eq!(read, names.iter().map(|name| word(name)).collect::<Vec<_>>(), "{field}");
        }
    }

    #[test]
    fn numbers() {
        for (text, number) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("12.9", Some(12)),
            ("-3", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("", None),
            ("-", None),
            ("1e3", None),
            ("+1", None),
            ("1.x", None),
        ] {
            assert_eq!(whole(text), number, "{text}");
        }
    }
}
