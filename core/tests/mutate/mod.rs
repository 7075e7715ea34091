//! Sound input with changes to it: random bytes alone seldom get past the first check of a parser.
#![allow(dead_code, reason = "each test uses a part")]

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

/// Longer than any input may take, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(10);

/// Runs a test on so many inputs, times `FUZZ` from the environment. A failure prints the smallest input that has it.
pub(crate) fn fuzz<T: std::fmt::Debug>(
    cases: u32,
    input: impl Strategy<Value = T>,
    test: impl Fn(T) -> Result<(), TestCaseError>,
) {
    let times = env::var("FUZZ").map_or(1, |times| times.parse().expect("FUZZ is a whole number"));
    let config = ProptestConfig {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    };
    let checked = |input| {
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| test(input)));
        let took = started.elapsed();
        prop_assert!(took < LONGEST, "took {took:?}");
        result.unwrap_or_else(|_| Err(TestCaseError::fail("panicked")))
    };
    if let Err(failure) = TestRunner::new(config).run(&input, checked) {
        panic!("{failure}");
    }
}

/// A change to a text that is cut into pieces: words, runs of spaces, and single marks.
#[derive(Clone, Debug)]
enum Edit {
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Move(Index, usize, Index),
    Insert(Index, Vec<u8>),
    Replace(Index, Vec<u8>),
    /// Cuts the text off in the middle of a piece.
    End(Index),
    /// Changes single bits.
    Flip(Index, u8),
}

impl Edit {
    fn any(tokens: &'static [&'static str]) -> impl Strategy<Value = Self> {
        let token = prop_oneof![
            6 => select(tokens).prop_map(|token| token.as_bytes().to_vec()),
            1 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
            1 => any::<Vec<u8>>(),
        ];
        let (place, few) = (any::<Index>(), 1..8_usize);
        let times = prop_oneof![20 => 2..5_usize, 1 => 100..2000_usize];
        prop_oneof![
            3 => (place.clone(), few.clone()).prop_map(|(at, pieces)| Self::Remove(at, pieces)),
            3 => (place.clone(), few.clone(), times).prop_map(|(at, pieces, times)| Self::Repeat(at, pieces, times)),
            2 => (place.clone(), few, place.clone()).prop_map(|(at, pieces, to)| Self::Move(at, pieces, to)),
            4 => (place.clone(), token.clone()).prop_map(|(at, token)| Self::Insert(at, token)),
            4 => (place.clone(), token).prop_map(|(at, token)| Self::Replace(at, token)),
            1 => place.clone().prop_map(Self::End),
            1 => (place, 1..=255_u8).prop_map(|(at, bits)| Self::Flip(at, bits)),
        ]
    }

    fn apply(self, pieces: &mut Vec<Vec<u8>>) {
        let range = |at: Index, count: usize, length: usize| {
            let start = at.index(length);
            start..(start + count).min(length)
        };
        if pieces.is_empty() {
            pieces.push(Vec::new());
        }
        let length = pieces.len();
        match self {
            Self::Remove(at, count) => drop(pieces.drain(range(at, count, length))),
            Self::Repeat(at, count, times) => {
                let range = range(at, count, length);
                let repeated = vec![pieces[range.clone()].concat(); times];
                pieces.splice(range, repeated);
            }
            Self::Move(at, count, to) => {
                let moved: Vec<_> = pieces.drain(range(at, count, length)).collect();
                let to = to.index(pieces.len() + 1);
                pieces.splice(to..to, moved);
            }
            Self::Insert(at, token) => pieces.insert(at.index(length + 1), token),
            Self::Replace(at, token) => pieces[at.index(length)] = token,
            Self::End(at) => {
                let last = at.index(length);
                let half = pieces[last].len() / 2;
                pieces[last].truncate(half);
                pieces.truncate(last + 1);
            }
            Self::Flip(at, bits) => {
                let piece = &mut pieces[at.index(length)];
                let middle = piece.len() / 2;
                if let Some(byte) = piece.get_mut(middle) {
                    *byte ^= bits;
                }
            }
        }
    }
}

/// Changes to make to some input.
#[derive(Clone, Debug)]
pub(crate) struct Edits(Vec<Edit>);

impl Edits {
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// So many changes at the most, made of these tokens.
    pub(crate) fn upto(most: usize, tokens: &'static [&'static str]) -> impl Strategy<Value = Self> {
        proptest::collection::vec(Edit::any(tokens), 0..=most).prop_map(Self)
    }

    pub(crate) fn apply(self, text: &[u8]) -> Vec<u8> {
        let mut pieces = pieces(text);
        for edit in self.0 {
            edit.apply(&mut pieces);
            // What is repeated may be repeated again.
            if pieces.len() > 50_000 {
                break;
            }
        }
        pieces.concat()
    }
}

fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
    let class = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 128.. => 0,
        b' ' | b'\t' => 1,
        _ => 2,
    };
    text.chunk_by(|one, next| class(one) == class(next) && class(one) < 2).map(<[u8]>::to_vec).collect()
}

/// One of these texts, with up to six changes.
pub(crate) fn mutated(
    seeds: &'static [&'static str],
    tokens: &'static [&'static str],
) -> impl Strategy<Value = Vec<u8>> {
    (select(seeds), Edits::upto(6, tokens)).prop_map(|(seed, edits)| edits.apply(seed.as_bytes()))
}

/// The same as text.
pub(crate) fn mutated_text(
    seeds: &'static [&'static str],
    tokens: &'static [&'static str],
) -> impl Strategy<Value = String> {
    mutated(seeds, tokens).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
