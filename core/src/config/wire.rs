//! Documents as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Limits;
use super::overrides::Override;

impl Limits {
    /// The document as JSON text: all names in a table `limits`, and beside it the `overrides`, if there are any.
    ///
    /// ```
    /// use tidegate::config::{Format, Limits};
    ///
    /// let text = r#"{"limits":{"api":{"key":"api","type":"bucket","size":9,"dripRate":1000,"dripSize":1,"factorScales":"size"}}}"#;
    /// let limits = Limits::from_str(text, Format::Json)?;
    /// let again = Limits::from_str(&limits.to_json(), Format::Json)?;
    /// assert_eq!(again["api"], limits["api"]);
    /// # Ok::<(), tidegate::config::LimitsError>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // Structs of numbers and strings: there is nothing in them that serialisation can refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Named<'a>(&'a Limits);
        impl Serialize for Named<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter())
            }
        }
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("limits", &Named(self))?;
        if !self.overrides().is_empty() {
            document.serialize_entry("overrides", self.overrides())?;
        }
        document.end()
    }
}

impl Serialize for Override {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_map(None)?;
        for (name, text) in [("actor", self.actor()), ("pattern", self.pattern()), ("limit", self.limit())] {
            if let Some(text) = text {
                entry.serialize_entry(name, text)?;
            }
        }
        match self.definition() {
            Some(limit) => entry.serialize_entry("definition", limit.kind())?,
            None if self.is_unlimited() => entry.serialize_entry("unlimited", &true)?,
            None => entry.serialize_entry("factor", &self.factor())?,
        }
        entry.end()
    }
}
