//! The styles of headers, and the answers of one response in any of them.

use std::borrow::Cow;
use std::str::FromStr;

use super::Header;
use super::common::{Reset, common};
use super::ietf::{Draft, Policy, ietf};
use super::x::x;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::names;

/// The fields that a response gets.
///
/// ```
/// use tidegate::headers::{Draft, Style};
///
/// assert_eq!("x".parse(), Ok(Style::X));
/// assert_eq!("both".parse::<Style>()?.draft(Draft::V7), Style::Both(Draft::V7));
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// `X-RateLimit-Remaining` and `X-RateLimit-Clear`, as [`x`] writes them.
    #[default]
    X,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, as [`common`](common()) writes them.
    Common(Reset),
    /// `RateLimit-Policy` and `RateLimit`, as [`ietf`](ietf()) writes them.
    Ietf(Draft),
    /// Those of [`X`](Self::X) and [`Ietf`](Self::Ietf).
    Both(Draft),
    /// None.
    None,
}

impl Style {
    /// The names of all styles.
    pub const NAMES: [&'static str; 5] = ["x", "common", "ietf", "both", "none"];

    /// The same style in this draft, if it has one.
    #[must_use]
    pub const fn draft(self, draft: Draft) -> Self {
        match self {
            Self::Ietf(_) => Self::Ietf(draft),
            Self::Both(_) => Self::Both(draft),
            other => other,
        }
    }

    /// The same style with this form of `X-RateLimit-Reset`, if it has one.
    #[must_use]
    pub const fn reset(self, reset: Reset) -> Self {
        match self {
            Self::Common(_) => Self::Common(reset),
            other => other,
        }
    }

    /// The fields of one answer, with the policies of its checks, of which `binding` is the index of the deciding one.
    #[must_use]
    pub fn fields(self, info: &LimitInfo, policies: &[Policy<'_>], binding: usize) -> Vec<Header> {
        match self {
            Self::X => x(info),
            Self::Common(reset) => common(policies.get(binding).map_or(info, |policy| policy.info), reset),
            Self::Ietf(draft) => ietf(policies, binding, draft),
            Self::Both(draft) => [x(info), ietf(policies, binding, draft)].concat(),
            Self::None => Vec::new(),
        }
    }
}

/// From one of its [names](Style::NAMES), in the newest draft, with seconds from now.
impl FromStr for Style {
    type Err = LimitError;

    fn from_str(name: &str) -> Result<Self, LimitError> {
        match name {
            "x" => Ok(Self::X),
            "common" => Ok(Self::Common(Reset::default())),
            "ietf" => Ok(Self::Ietf(Draft::default())),
            "both" => Ok(Self::Both(Draft::default())),
            "none" => Ok(Self::None),
            other => Err(names::unknown("headers", Self::NAMES, other)),
        }
    }
}

/// The fields for one response of all answers that belong to it, whichever decisions they came from.
///
/// Every policy is named, once; where two answers belong to one policy, the tighter one is written. `X-RateLimit`
/// fields have the tightest answer of all, and there is one `Retry-After`, the longest of those that deny. Answers without
/// a limit have no fields.
///
/// ```
/// use tidegate::headers::{Draft, Policy, Style, merged};
/// use tidegate::{Call, Limit, State};
///
/// let (all, login) = (Limit::bucket("all", 100).build()?, Limit::bucket("login", 5).build()?);
/// let ((one, _), (two, _)) =
///     (all.decide(State::default(), 0, Call::Limit)?, login.decide(State::default(), 0, Call::Limit)?);
/// let answers = [Policy::new("all", &one), Policy::new("login", &two)];
/// assert_eq!(merged(&answers, Style::X)[0], ("X-RateLimit-Remaining", "4".to_owned()));
/// assert_eq!(merged(&answers, Style::Ietf(Draft::V11))[1].1, r#""all";r=99;t=1, "login";r=4;t=1"#);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn merged(answers: &[Policy<'_>], style: Style) -> Vec<Header> {
    let policies = tightest(answers);
    match (binding(&policies), &policies[..]) {
        (None, _) => Vec::new(),
        (Some(binding), [one]) => style.fields(one.info, &policies, binding),
        (Some(binding), _) => {
            // Of a denied request only those limits say when to come back that deny it, or that it was charged to: what
            // the others charged is given back.
            let together = LimitInfo::merged(policies.iter().map(|policy| policy.info.clone()).collect());
            style.fields(&together, &policies, binding)
        }
    }
}

/// The answers with a limit, one for each policy; nearly always there is one, which needs no list.
fn tightest<'a, 'b>(answers: &'b [Policy<'a>]) -> Cow<'b, [Policy<'a>]> {
    if let [one] = answers
        && one.info.is_limited()
    {
        return Cow::Borrowed(answers);
    }
    let mut policies: Vec<Policy<'a>> = Vec::with_capacity(answers.len());
    for answer in answers.iter().filter(|answer| answer.info.is_limited()) {
        let is_same = |known: &&mut Policy<'a>| {
            known.key == answer.key
                && (known.info.quota, known.info.window_ms) == (answer.info.quota, answer.info.window_ms)
        };
        match policies.iter_mut().find(is_same) {
            Some(known) if answer.info.outdoes(known.info) => *known = *answer,
            Some(_) => {}
            None => policies.push(*answer),
        }
    }
    policies.into()
}

/// The one that decides: the first of equals.
fn binding(policies: &[Policy<'_>]) -> Option<usize> {
    let tighter =
        |best: usize, index: usize| if policies[index].info.outdoes(policies[best].info) { index } else { best };
    (0..policies.len()).reduce(tighter)
}
