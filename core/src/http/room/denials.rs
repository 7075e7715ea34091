//! Denials that are told, and those that are only counted because there are too many.

/// The number of denials that are told in one second; further ones are counted.
const MOST_A_SECOND: u32 = 10;

/// A count of denials, which says which of them may be told now. The time is passed in.
///
/// ```
/// use tidegate::http::Denials;
///
/// let mut denials = Denials::new();
/// let told = (0..300).filter(|_| denials.note(1000).is_some()).count();
/// assert_eq!(told, 10);
/// assert_eq!(denials.note(2000), Some(290), "and 290 more");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denials {
    /// The second that is being counted.
    second: u64,
    told: u32,
    untold: u64,
}

impl Denials {
    /// No denials.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a denial at this time, in milliseconds of any clock. Where it is to be told: the number of denials before it
    /// that were not.
    pub fn note(&mut self, now_ms: u64) -> Option<u64> {
        let second = now_ms / 1000;
        if second != self.second {
            (self.second, self.told) = (second, 0);
        }
        if self.told < MOST_A_SECOND {
            self.told += 1;
            Some(std::mem::take(&mut self.untold))
        } else {
            self.untold = self.untold.saturating_add(1);
            None
        }
    }
}
