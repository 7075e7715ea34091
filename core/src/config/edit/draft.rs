//! A document while it is changed.

use crate::config::OVERRIDES;
use crate::config::error::Fault;
use crate::limit::Value;

/// The fields that say whose override it is, and of which limit, with their texts.
pub(crate) type Subject<'a> = &'a [(&'static str, Option<&'a str>)];

/// A document that is being changed. All but its overrides stays as it is.
pub(crate) trait Draft {
    /// Removes the overrides of this subject; true if there were some.
    fn remove(&mut self, subject: Subject<'_>) -> bool;

    /// Puts an override before all others, so that it holds.
    fn put_first(&mut self, fields: Vec<(&'static str, Value)>);

    /// The document as text.
    fn write(self: Box<Self>) -> String;
}

/// The fault of a document that has no room for overrides.
pub(super) fn is_a_limit() -> Fault {
    let problem = "is a limit, in whose place no overrides can stand: all limits must stand in a table, limits";
    Fault::new(OVERRIDES.to_owned(), problem)
}
