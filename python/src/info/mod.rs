//! Answers, and making them.

mod answer;
mod make;

pub(crate) use self::answer::LimitInfo;
pub(crate) use self::make::from_pickle;
