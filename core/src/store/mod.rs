//! Where entries are kept between decisions.

pub(crate) mod memory;
