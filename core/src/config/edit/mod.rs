//! Changes of a document's overrides, for the command.

mod draft;
mod json;
mod toml;

use self::draft::Draft;
use self::json::Json;
use self::toml::Toml;
use super::Limits;
use super::document::Format;
use super::error::{Fault, LimitsError};

/// The byte order mark.
const MARK: &str = "\u{feff}";

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
    let text = as_before(text, draft.write());
    Limits::from_str(&text, format).map(|_| text)
}

/// A text with the byte order mark and the ends of lines of the one before it, which the writers of both formats leave out:
/// else every line of it would have changed.
fn as_before(before: &str, text: String) -> String {
    let mark = if before.starts_with(MARK) { MARK } else { "" };
    let is_windows = before.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n"));
    let text = if is_windows { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
    format!("{mark}{}", text.trim_start_matches(MARK))
}
