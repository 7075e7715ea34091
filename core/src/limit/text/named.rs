//! The types that text can name.

use super::super::{Definition, FixedWindow, SlidingCounter, SlidingLog, SlidingWindow, TokenBucket};

/// A type that text can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    TokenBucket,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
}

impl Named {
    pub(super) const ALL: [Self; 5] =
        [Self::TokenBucket, Self::FixedWindow, Self::SlidingWindow, Self::SlidingCounter, Self::SlidingLog];

    /// Its name, as in the wire form.
    pub(super) fn name(self) -> &'static str {
        let name = match self {
            Self::TokenBucket => TokenBucket::TYPE,
            Self::FixedWindow => FixedWindow::TYPE,
            Self::SlidingWindow => SlidingWindow::TYPE,
            Self::SlidingCounter => SlidingCounter::TYPE,
            Self::SlidingLog => SlidingLog::TYPE,
        };
        name.unwrap_or_default()
    }
}
