//! Changes of a document's overrides, for the command.

mod json;
mod toml;

use self::json::Json;
use self::toml::Toml;
use super::Limits;
use super::document::Format;
use super::error::{Fault, LimitsError};
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

/// The formats that can be changed: a writer of YAML would lose the comments.
pub(crate) fn is_editable(format: Format) -> bool {
    matches!(format, Format::Json | Format::Toml)
}

/// Changes a sound document; what it becomes has to be sound as well.
pub(crate) fn edited(text: &str, format: Format, edit: impl FnOnce(&mut dyn Draft)) -> Result<String, LimitsError> {
    Limits::from_str(text, format)?;
    let fault = |fault| LimitsError::new(format.name().to_owned(), vec![fault]);
    let mut draft: Box<dyn Draft> = match format {
        Format::Json => Box::new(Json::read(text).map_err(fault)?),
        Format::Toml => Box::new(Toml::read(text).map_err(fault)?),
        Format::Yaml => return Err(fault(Fault::of_text("comments of YAML would be lost"))),
    };
    edit(&mut *draft);
    let text = draft.write();
    Limits::from_str(&text, format).map(|_| text)
}
