//! Answers, and making them.

mod answer;
mod asked;
mod make;

pub(crate) use self::answer::LimitInfo;
pub(crate) use self::asked::Asked;
pub(crate) use self::make::from_pickle;
