//! TLS to a server: the authorities to trust, the client's own certificate, and the settings made of both.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::url;

/// The client's certificate, with those between it and its authority, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Settings of the connections to one store.
pub(super) struct Tls {
    /// The authorities to trust in place of the system's.
    authorities: Option<RootCertStore>,
    identity: Option<Identity>,
    /// Any certificate of the server's is good.
    unverified: bool,
    /// Made for the first connection: to read the system's authorities takes milliseconds. No lock, as a child may be
    /// forked off meanwhile.
    config: ArcSwapOption<ClientConfig>,
}

impl Tls {
    /// Reads certificates.
    ///
    /// # Errors
    /// The problem with them.
    pub(super) fn read(given: &url::Tls) -> Result<Self, String> {
        let authorities = given.authority.as_deref().map(authorities).transpose()?;
        let identity = given.identity.as_ref().map(|(chain, key)| identity(chain, key)).transpose()?;
        let tls = Self { authorities, identity, unverified: given.unverified, config: ArcSwapOption::empty() };
        if tls.identity.is_some() {
            // A key that does not go with its certificate is refused now; the authorities have no part in that.
            tls.config_with(RootCertStore::empty())
                .map_err(|error| format!("has certificates that cannot be used: {error}"))?;
        }
        Ok(tls)
    }

    /// Secures a connection to a host.
    ///
    /// # Errors
    /// The server's certificate is not to be trusted, or the handshake failed.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.config()?).connect(name, stream).await
    }

    /// The settings of a connection.
    ///
    /// # Errors
    /// When the system's authorities are to be trusted, and there are none.
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.config.load_full() {
            return Ok(config);
        }
        let authorities = match &self.authorities {
            Some(authorities) => authorities.clone(),
            None if self.unverified => RootCertStore::empty(),
            None => systems_authorities()?,
        };
        let config = Arc::new(self.config_with(authorities).map_err(io::Error::other)?);
        self.config.store(Some(config.clone()));
        Ok(config)
    }

    fn config_with(&self, authorities: RootCertStore) -> Result<ClientConfig, Error> {
        // A program that chose its own cryptography keeps it.
        let ours = || Arc::new(rustls::crypto::ring::default_provider());
        let provider = CryptoProvider::get_default().cloned().unwrap_or_else(ours);
        let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let config = if self.unverified {
            config.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        } else {
            config.with_root_certificates(authorities)
        };
        match &self.identity {
            Some((chain, key)) => config.with_client_auth_cert(chain.clone(), key.clone_key()),
            None => Ok(config.with_no_client_auth()),
        }
    }
}

fn authorities(pem: &[u8]) -> Result<RootCertStore, String> {
    const PROBLEM: &str = "has a certificate authority that is no certificate in PEM form";
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        authorities.add(certificate.map_err(|_| PROBLEM)?).map_err(|_| PROBLEM)?;
    }
    if authorities.is_empty() { Err(PROBLEM.to_owned()) } else { Ok(authorities) }
}

fn identity(chain: &[u8], key: &[u8]) -> Result<Identity, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or("has a client certificate that is no certificate in PEM form")?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "has a client key that is no key in PEM form")?;
    Ok((chain, key))
}

fn systems_authorities() -> io::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    // A single one that cannot be read is none that this server needs, or the handshake says so.
    authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        let because = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(io::Error::other(format!("no certificate authorities on this system: {because}")));
    }
    Ok(authorities)
}

/// Takes any certificate, as was asked for; that the server has its key is proved all the same.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
