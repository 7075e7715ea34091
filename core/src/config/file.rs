//! Files of documents.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::document::Format;
use super::error::{Fault, LimitsError};

/// The largest document, in bytes: far more than is written by hand.
pub(crate) const LARGEST: u64 = 8 << 20;

/// The file of a document.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    /// The format that its name ends with.
    format: Option<Format>,
}

impl Source {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), format: Format::of(path) }
    }

    /// Its text, with its format.
    pub(super) fn read(&self) -> Result<(String, Format), Fault> {
        let format = self.format.ok_or_else(|| Fault::of_text("must end with .json, .toml, .yaml or .yml"))?;
        let mut bytes = Vec::new();
        let file = File::open(&self.path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
        file.map_err(|error| Fault::of_text(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| Fault::of_text(format!("is not UTF-8 from byte {}", error.utf8_error().valid_up_to())))?;
        Ok((text, format))
    }

    /// An error that names the file.
    pub(super) fn error(&self, faults: Vec<Fault>) -> LimitsError {
        LimitsError::new(self.to_string(), faults)
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::error::excerpt(&self.path.display().to_string()))
    }
}
