//! A build without TLS: a URL that asks for it is refused.

use std::future::Ready;
use std::io;

use tokio::net::TcpStream;

use crate::store::redis::settings::url;

/// Settings of TLS, which there cannot be.
pub(crate) enum Tls {}

impl Tls {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn read(_: &url::Tls) -> Result<Self, String> {
        Err("must not ask for TLS, which this build is without: add the feature `tls` of the crate".to_owned())
    }

    /// Nothing: there is no such value.
    pub(crate) fn connect(&self, _: &str, _: TcpStream) -> Ready<io::Result<TcpStream>> {
        match *self {}
    }

    /// Nothing, as above.
    pub(crate) fn silence(&self) -> Option<&'static str> {
        match *self {}
    }
}
