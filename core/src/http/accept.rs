//! The form of a body, by the `Accept` of its request.

/// The form of the body of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// `application/problem+json`, as RFC 9457 defines it.
    Problem,
    /// The same members as `application/json`.
    Json,
    /// A sentence as `text/plain`.
    Text,
}

/// Most bytes of a field that are looked at; what a browser sends has some 200.
const MOST_BYTES: usize = 4096;

impl Form {
    /// The value of `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Problem => "application/problem+json",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    /// The form that a client prefers, by all its lines of `Accept`: the one of the highest quality, of equals the one
    /// that is named more exactly, of these a problem. A client that asks for HTML is a browser, and gets a sentence.
    /// One that takes none of them gets a problem all the same, as one that says nothing does.
    ///
    /// ```
    /// use tidegate::http::Form;
    ///
    /// assert_eq!(Form::preferred(&["application/json, text/plain, */*"]), Form::Json);
    /// assert_eq!(Form::preferred(&["text/html,application/xhtml+xml,*/*;q=0.8"]), Form::Text);
    /// assert_eq!(Form::preferred(&["*/*"]), Form::Problem);
    /// ```
    #[must_use]
    pub fn preferred(lines: &[impl AsRef<[u8]>]) -> Self {
        let mut best = [Preference::default(); 3];
        let mut budget = MOST_BYTES;
        for line in lines {
            let line = line.as_ref();
            let seen = &line[..line.len().min(budget)];
            budget -= seen.len();
            for range in seen.split(|byte| *byte == b',').filter_map(Range::read) {
                for (form, best) in [Self::Problem, Self::Json, Self::Text].into_iter().zip(&mut best) {
                    if let Some(exactness) = range.exactness(form) {
                        best.admit(exactness, range.quality);
                    }
                }
            }
        }
        let [problem, json, text] = best.map(|preference| (preference.quality, preference.exactness));
        // Of equals the first one.
        if problem.0 == 0 && json.0 == 0 && text.0 == 0 || problem >= json && problem >= text {
            Self::Problem
        } else if json >= text {
            Self::Json
        } else {
            Self::Text
        }
    }
}

/// A client's wish about one form: the most exact range that it is in decides.
#[derive(Clone, Copy, Default)]
struct Preference {
    exactness: u8,
    /// In thousandths.
    quality: u16,
}

impl Preference {
    fn admit(&mut self, exactness: u8, quality: u16) {
        if exactness > self.exactness {
            *self = Self { exactness, quality };
        } else if exactness == self.exactness {
            self.quality = self.quality.max(quality);
        }
    }
}

struct Range<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    quality: u16,
}

impl<'a> Range<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let mut parts = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next()?;
        let slash = name.iter().position(|byte| *byte == b'/')?;
        let quality = parts.find_map(|part| part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")));
        let quality = quality.map_or(Some(1000), thousandths)?;
        Some(Self { kind: &name[..slash], subtype: &name[slash + 1..], quality })
    }

    fn exactness(&self, form: Form) -> Option<u8> {
        let is = |kind: &str, subtype: &str| {
            self.kind.eq_ignore_ascii_case(kind.as_bytes()) && self.subtype.eq_ignore_ascii_case(subtype.as_bytes())
        };
        let (kind, subtype) = match form {
            Form::Problem => ("application", "problem+json"),
            Form::Json => ("application", "json"),
            Form::Text => ("text", "plain"),
        };
        if is(kind, subtype) {
            Some(4)
        } else if form == Form::Text && is("text", "html") {
            Some(3)
        } else if is(kind, "*") {
            Some(2)
        } else {
            is("*", "*").then_some(1)
        }
    }
}

/// `0.85` in thousandths; none where it is no quality.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, decimals) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let digits = decimals.iter().all(u8::is_ascii_digit) && decimals.len() <= 3;
    let parts = [100, 10, 1].iter().zip(decimals).map(|(worth, digit)| worth * u16::from(digit.wrapping_sub(b'0')));
    match whole {
        b"0" if digits => Some(parts.sum()),
        b"1" if digits && decimals.iter().all(|digit| *digit == b'0') => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_form() {
        for (accept, form) in [
            ("", Form::Problem),
            ("*/*", Form::Problem),
            ("application/*", Form::Problem),
            ("application/json", Form::Json),
            ("application/problem+json", Form::Problem),
            ("application/json, application/problem+json", Form::Problem),
            ("application/json, text/plain, */*", Form::Json),
            ("application/json;q=0.5, text/plain;q=0.6", Form::Text),
            ("application/json; charset=utf-8; q=0.9, text/plain;q=0.95", Form::Text),
            ("text/plain", Form::Text),
            ("text/*", Form::Text),
            ("TEXT/Plain;Q=1.000, */*;q=0.1", Form::Text),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", Form::Text),
            ("text/html;q=0.1, application/json", Form::Json),
            ("application/json;q=0, */*", Form::Problem),
            ("application/problem+json;q=0, */*", Form::Json),
            ("image/png", Form::Problem),
            ("application/json;q=0", Form::Problem),
            ("application/json;q=2, text/plain;q=0.1", Form::Text),
            ("application/json;q=0.1234, text/plain;q=0.1", Form::Text),
            (";;;,,,/,q=1", Form::Problem),
            ("*/*;q=0.5, application/json;q=0.5", Form::Json),
        ] {
            assert_eq!(Form::preferred(&[accept]), form, "{accept}");
        }
        assert_eq!(Form::preferred(&["text/plain;q=0.5", "application/json"]), Form::Json);
        assert_eq!(Form::preferred(&[[0xff, b'/', 0xff]]), Form::Problem);
        let long = format!("{}text/plain", "a/b,".repeat(1 << 18));
        assert_eq!(Form::preferred(&[long]), Form::Problem, "what is too far away is not looked at");
    }
}
