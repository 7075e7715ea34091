//! A document while it is changed.

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
