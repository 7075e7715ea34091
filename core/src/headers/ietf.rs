//! The fields of draft-ietf-httpapi-ratelimit-headers, as structured fields (RFC 9651).

use std::fmt::Write as _;

use super::Header;
use crate::info::LimitInfo;
use crate::names::named;

/// The version of draft-ietf-httpapi-ratelimit-headers that a client understands; the draft still changes its forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Draft {
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as up to draft 6.
    V6,
    /// One dictionary, as in draft 7: `RateLimit: limit=10, remaining=9, reset=1`.
    V7,
    /// Named policies, as in drafts 8 to 11: `RateLimit: "login";r=9;t=1`.
    #[default]
    V11,
    /// The parameters that the editors have proposed since: `a`, the available quota, for `r`, and `w`, the effective
    /// window, for `t`; and of an admitted call `c`, the units that it took: `RateLimit: "login";a=9;w=1;c=1`.
    Editors,
}

named!(Draft, "draft", V6 = "6", V7 = "7", V11 = "11", Editors = "editors");

impl Draft {
    /// The forms that have a number: each is that of the drafts since the one before it.
    pub const NUMBERED: [(u32, Self); 3] = [(6, Self::V6), (7, Self::V7), (11, Self::V11)];

    /// The form of a draft by its number: 6, 7 or 11.
    #[must_use]
    pub fn from_number(draft: u32) -> Option<Self> {
        Self::NUMBERED.into_iter().find_map(|(number, form)| (number == draft).then_some(form))
    }
}

/// An answer with the key of its limit, which becomes the name of a policy.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Policy<'a> {
    /// The limit's key.
    pub key: &'a str,
    /// The answer of the limit.
    pub info: &'a LimitInfo,
    /// The units that the call took, where they are known; only the form of the [editors](Draft::Editors) has them.
    pub cost: Option<u64>,
}

impl<'a> Policy<'a> {
    /// An answer of the limit with this key.
    #[must_use]
    pub const fn new(key: &'a str, info: &'a LimitInfo) -> Self {
        Self { key, info, cost: None }
    }

    /// The units that the call took.
    #[must_use]
    pub const fn cost(mut self, units: u64) -> Self {
        self.cost = Some(units);
        self
    }
}

/// `RateLimit-Policy` and `RateLimit`, or the fields that stood for them in an older draft.
///
/// Every policy is named. `binding` is the index of the one that decides; drafts up to 7 have room for the state of
/// that one only. A quota (`q`) is the limit's size, a window (`w`) the seconds in which a full entry drains, `r` what
/// remains, and `t` the seconds until the next unit, or until admission when blocked. Seconds are whole, rounded up, at
/// least 1. A limit that limits nothing has no policy. The name of a policy is its key, in which what is not printable
/// ASCII is percent-encoded; a key over 128 characters is cut there, and ends in `~`.
///
/// ```
/// use tidegate::{Call, Limit, State};
/// use tidegate::headers::{Draft, Policy, ietf};
///
/// let login = Limit::bucket("login", 10).build()?;
/// let (info, _) = login.decide(State::default(), 0, Call::Limit)?;
/// let policies = [Policy::new(login.key(), &info)];
/// assert_eq!(ietf(&policies, 0, Draft::V11), [
///     ("RateLimit-Policy", r#""login";q=10;w=10"#.to_owned()),
///     ("RateLimit", r#""login";r=9;t=1"#.to_owned()),
/// ]);
/// assert_eq!(ietf(&policies, 0, Draft::V7)[1], ("RateLimit", "limit=10, remaining=9, reset=1".to_owned()));
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn ietf(policies: &[Policy<'_>], binding: usize, draft: Draft) -> Vec<Header> {
    crate::panics::point("headers");
    let limited: Vec<_> = policies.iter().filter(|policy| policy.info.is_limited()).collect();
    let deciding = policies.get(binding).filter(|policy| policy.info.is_limited()).or(limited.first().copied());
    let Some(deciding) = deciding else { return Vec::new() };
    let mut headers = vec![("RateLimit-Policy", policy_field(&limited, draft))];
    let info = deciding.info;
    match draft {
        Draft::V6 => headers.extend([
            ("RateLimit-Limit", integer(info.quota).to_string()),
            ("RateLimit-Remaining", integer(info.remaining).to_string()),
            ("RateLimit-Reset", integer(wait(info)).to_string()),
        ]),
        Draft::V7 => headers.push(("RateLimit", dictionary(info))),
        Draft::V11 => headers.push(("RateLimit", named(&limited))),
        Draft::Editors => headers.push(("RateLimit", proposed(&limited))),
    }
    headers
}

fn policy_field(policies: &[&Policy<'_>], draft: Draft) -> String {
    list(policies, |Policy { key, info, .. }| {
        let (quota, window) = (integer(info.quota), integer(seconds(info.window_ms)));
        match draft {
            Draft::V11 | Draft::Editors => format!("{};q={quota};w={window}", string(key)),
            Draft::V6 | Draft::V7 => format!("{quota};w={window}"),
        }
    })
}

fn named(policies: &[&Policy<'_>]) -> String {
    list(policies, |Policy { key, info, .. }| {
        format!("{};r={};t={}", string(key), integer(info.remaining), integer(wait(info)))
    })
}

fn proposed(policies: &[&Policy<'_>]) -> String {
    list(policies, |Policy { key, info, cost }| {
        let item = format!("{};a={};w={}", string(key), integer(info.remaining), integer(wait(info)));
        match cost.filter(|_| !info.blocked) {
            Some(units) => format!("{item};c={}", integer(units)),
            None => item,
        }
    })
}

fn list(policies: &[&Policy<'_>], item: impl Fn(&Policy<'_>) -> String) -> String {
    policies.iter().map(|policy| item(policy)).collect::<Vec<_>>().join(", ")
}

fn dictionary(info: &LimitInfo) -> String {
    let (quota, remaining, reset) = (integer(info.quota), integer(info.remaining), integer(wait(info)));
    format!("limit={quota}, remaining={remaining}, reset={reset}")
}

/// Until admission when blocked, else until the next unit.
fn wait(info: &LimitInfo) -> u64 {
    seconds(if info.blocked { info.reset_ms } else { info.next_ms })
}

fn seconds(millis: u64) -> u64 {
    millis.div_ceil(1000).max(1)
}

/// The longest name of a policy, in characters of the key.
const LONGEST_NAME: usize = 128;

/// The name of a key's policy: printable ASCII, in which anything else is percent-encoded, so that a key can end neither
/// its string nor its field. A long key is cut.
pub(crate) fn name_of(key: &str) -> String {
    let is_long = key.char_indices().nth(LONGEST_NAME).is_some();
    let kept = if is_long { LONGEST_NAME - 1 } else { LONGEST_NAME };
    let mut name = String::with_capacity(key.len().min(LONGEST_NAME));
    for c in key.chars().take(kept) {
        if matches!(c, ' '..='~') {
            name.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string does not fail.
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    if is_long {
        name.push('~');
    }
    name
}

/// The name of a key's policy as a structured-field string.
fn string(key: &str) -> String {
    let name = name_of(key);
    let mut string = String::with_capacity(name.len() + 2);
    string.push('"');
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            string.push('\\');
        }
        string.push(c);
    }
    string.push('"');
    string
}

/// Structured fields hold integers of at most 15 digits, which every count and time of ours is below.
fn integer(value: u64) -> u64 {
    value.min(999_999_999_999_999)
}
