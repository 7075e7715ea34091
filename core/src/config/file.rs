//! The places from which documents are read.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::document::Format;
use super::error::{Fault, LimitsError};

/// The largest document, in bytes: far more than is written by hand.
pub(crate) const LARGEST: u64 = 8 << 20;

/// Reads the bytes of a document, at most one more than [`LARGEST`]; else says why not.
pub(super) type Reader = Box<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

/// The place of a document.
pub(super) struct Source {
    /// The place as errors name it.
    name: String,
    /// The format that its name ends with.
    format: Option<Format>,
    from: From,
}

enum From {
    File(PathBuf),
    Elsewhere(Reader),
}

impl Source {
    pub(super) fn new(path: &Path) -> Self {
        let name = crate::error::excerpt(&path.display().to_string());
        Self { name, format: Format::of(path), from: From::File(path.to_owned()) }
    }

    pub(super) fn elsewhere(name: String, reader: Reader) -> Self {
        Self { format: Format::of(&name), name, from: From::Elsewhere(reader) }
    }

    /// It may be read while it is being written.
    pub(super) const fn may_be_half_written(&self) -> bool {
        matches!(self.from, From::File(_))
    }

    /// Its text, with its format.
    pub(super) fn read(&self) -> Result<(String, Format), Fault> {
        let format = self.format.ok_or_else(|| Fault::of_text("must end with .json, .toml, .yaml or .yml"))?;
        let read = match &self.from {
            From::File(path) => bytes_of(path).map_err(|error| error.to_string()),
            From::Elsewhere(reader) => reader(),
        };
        let bytes = read.map_err(|error| Fault::of_text(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| Fault::of_text(format!("is not UTF-8 from byte {}", error.utf8_error().valid_up_to())))?;
        Ok((text, format))
    }

    /// An error that names the place.
    pub(super) fn error(&self, faults: Vec<Fault>) -> LimitsError {
        LimitsError::new(self.name.clone(), faults)
    }
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
