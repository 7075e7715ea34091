//! Answers, and making them.

mod answer;
mod lazy_info;
mod make;

pub(crate) use self::answer::LimitInfo;
pub(crate) use self::lazy_info::LazyInfo;
pub(crate) use self::make::from_pickle;
