//! Documents of limits that a server keeps under a key.

use super::Limiter;
use crate::config::{LARGEST, Watch};
use crate::error::LimitError;

impl Watch {
    /// A file, or a text that Redis or Valkey keeps: the [URL](crate::Redis::open) of the server, a `/`, and the key, which
    /// ends as the name of a file. In a key `/`, `?` and `%` are percent-encoded.
    ///
    /// The server is asked once for each look, over a connection of its own. The user needs the rights to `EXISTS` and
    /// `GETRANGE` of the key.
    ///
    /// ```no_run
    /// use tidegate::config::Watch;
    ///
    /// let limits = Watch::open("redis://localhost:6379/0/limits.toml")?.start()?;
    /// assert!(limits.current().check("api", "ada").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the URL is malformed, or names no key.
    pub fn open(source: &str) -> Result<Self, LimitError> {
        if !source.contains("://") {
            return Ok(Self::new(source));
        }
        let document = Document::open(source)?;
        Ok(Self::from_fn(document.name(), move || document.read()))
    }
}

/// A document that a server keeps under a key.
pub(crate) struct Document {
    limiter: Limiter,
    key: String,
}

impl Document {
    pub(crate) fn open(source: &str) -> Result<Self, LimitError> {
        let (url, key) = parted(source)?;
        Ok(Self { limiter: Limiter::open(&url, [])?, key })
    }

    /// Its place, without a password.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.limiter.url(), self.key)
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>, String> {
        match self.limiter.value_sync(&self.key, LARGEST + 1) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err("there is no such key".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Replaces it, if it is still this text.
    #[cfg(feature = "cli")]
    pub(crate) fn replace(&self, before: &[u8], after: &[u8]) -> Result<(), String> {
        match self.limiter.replace_sync(&self.key, before, after) {
            Ok(true) => Ok(()),
            Ok(false) => Err("somebody else has changed it meanwhile".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The URL of a store, and the key behind it.
fn parted(source: &str) -> Result<(String, String), LimitError> {
    let (place, options) = source.split_once('?').map_or((source, None), |(place, options)| (place, Some(options)));
    // No part but the scheme may be shown: any other may be one of a password.
    let absent = || {
        let scheme = source.split_once("://").map_or("", |(scheme, _)| scheme);
        let problem = "must end with / and the key of a document, such as /limits.toml";
        LimitError::range("", "url", problem, format!("one that begins with {}://", crate::error::excerpt(scheme)))
    };
    let (scheme, rest) = place.split_once("://").ok_or_else(absent)?;
    if scheme == "memory" || scheme == "shm" {
        return Err(absent());
    }
    let (url, key) = rest.rsplit_once('/').filter(|(_, key)| key.contains('.')).ok_or_else(absent)?;
    let key = decoded(key).ok_or_else(absent)?;
    let options = options.map_or(String::new(), |options| format!("?{options}"));
    Ok((format!("{scheme}://{url}{options}"), key))
}

/// A text that may be percent-encoded.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(digit(rest.next()?)? * 16 + digit(rest.next()?)?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::parted;

    #[test]
    fn the_key_is_the_last_part_of_the_path() {
        for (source, url, key) in [
            ("redis://h/limits.toml", "redis://h", "limits.toml"),
            ("redis://u:p@h:1/5/limits.json?protocol=3", "redis://u:p@h:1/5?protocol=3", "limits.json"),
            ("rediss+sentinel://a,b/main/0/a%2Fb%25.yaml", "rediss+sentinel://a,b/main/0", "a/b%.yaml"),
        ] {
            assert_eq!(parted(source).expect(source), (url.to_owned(), key.to_owned()));
        }
        for source in ["redis://h", "redis://h/0", "redis://h/%zz.toml", "redis://h/%2", "memory://limits.toml", "://"]
        {
            let error = parted(source).expect_err(source);
            assert_eq!(error.field(), "url");
        }
        assert!(!parted("redis://:secret@h").expect_err("no key").to_string().contains("secret"));
    }
}
