//! The types that text can name.

use super::super::{CalendarWindow, Definition, FixedWindow, SlidingCounter, SlidingLog, SlidingWindow, TokenBucket};

/// A type that text can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    TokenBucket,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    CalendarWindow,
}

impl Named {
    pub(super) const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingCounter,
        Self::SlidingLog,
        Self::CalendarWindow,
    ];

    /// Its name, as in the wire form.
    pub(super) fn name(self) -> &'static str {
        let name = match self {
            Self::TokenBucket => TokenBucket::TYPE,
            Self::FixedWindow => FixedWindow::TYPE,
            Self::SlidingWindow => SlidingWindow::TYPE,
            Self::SlidingCounter => SlidingCounter::TYPE,
            Self::SlidingLog => SlidingLog::TYPE,
            Self::CalendarWindow => CalendarWindow::TYPE,
        };
        name.unwrap_or_default()
    }
}
