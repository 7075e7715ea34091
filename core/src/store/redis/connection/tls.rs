//! TLS to a server: the authorities to trust, the client's own certificate, and the settings made of both.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InvalidMessage, RootCertStore, SignatureScheme,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::store::redis::settings::url;

/// The client's certificate, with those between it and its authority, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Settings of the connections to one store.
pub(crate) struct Tls {
    /// The authorities to trust in place of the system's.
    authorities: Option<Authorities>,
    identity: Option<Identity>,
    /// Any certificate of the server's is good.
    unverified: bool,
    /// Made for the first connection: to read the system's authorities takes milliseconds. No lock, as a child may be
    /// forked off meanwhile.
    config: ArcSwapOption<ClientConfig>,
    /// Handshakes were begun, and one was answered.
    begun: AtomicBool,
    answered: AtomicBool,
}

/// Authorities, and the certificates that they were read from.
struct Authorities {
    roots: RootCertStore,
    certificates: Vec<CertificateDer<'static>>,
}

impl Authorities {
    fn none() -> Self {
        Self { roots: RootCertStore::empty(), certificates: Vec::new() }
    }
}

/// The problem where something else is answered, or nothing: a server without TLS waits for the end of a line.
const NOT_TLS: &str = "it does not answer in TLS: its port is one without, for redis:// URLs";
const SILENT: &str = "no answer to the TLS handshake in time: its port is perhaps one without TLS, for redis:// URLs";

impl Tls {
    /// Reads certificates.
    ///
    /// # Errors
    /// The problem with them.
    pub(crate) fn read(given: &url::Tls) -> Result<Self, String> {
        let authorities = given.authority.as_deref().map(authorities).transpose()?;
        let identity = given.identity.as_ref().map(|(chain, key)| identity(chain, key)).transpose()?;
        let tls = Self {
            authorities,
            identity,
            unverified: given.unverified,
            config: ArcSwapOption::empty(),
            begun: AtomicBool::new(false),
            answered: AtomicBool::new(false),
        };
        if tls.identity.is_some() {
            // A key that does not go with its certificate is refused now; the authorities have no part in that.
            tls.config_with(&Authorities::none())
                .map_err(|error| format!("has certificates that cannot be used: {error}"))?;
        }
        Ok(tls)
    }

    /// Secures a connection to a host.
    ///
    /// # Errors
    /// The server's certificate is not to be trusted, or the handshake failed.
    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let connector = TlsConnector::from(self.config()?);
        self.begun.store(true, Ordering::Relaxed);
        let connected = connector.connect(name, stream).await;
        self.answered.store(true, Ordering::Relaxed);
        connected.map_err(|error| {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            if let Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) = cause {
                io::Error::new(error.kind(), NOT_TLS)
            } else {
                error
            }
        })
    }

    /// The problem where no answer has come in time, if it is probably one of TLS: no handshake was ever answered.
    pub(crate) fn silence(&self) -> Option<&'static str> {
        (self.begun.load(Ordering::Relaxed) && !self.answered.load(Ordering::Relaxed)).then_some(SILENT)
    }

    /// The settings of a connection.
    ///
    /// # Errors
    /// When the system's authorities are to be trusted, and there are none.
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.config.load_full() {
            return Ok(config);
        }
        let of_system;
        let authorities = if let Some(authorities) = &self.authorities {
            authorities
        } else {
            of_system = if self.unverified { Authorities::none() } else { systems_authorities()? };
            &of_system
        };
        let config = Arc::new(self.config_with(authorities).map_err(io::Error::other)?);
        self.config.store(Some(config.clone()));
        Ok(config)
    }

    fn config_with(&self, authorities: &Authorities) -> Result<ClientConfig, Error> {
        // A program that chose its own cryptography keeps it.
        let ours = || Arc::new(rustls::crypto::ring::default_provider());
        let provider = CryptoProvider::get_default().cloned().unwrap_or_else(ours);
        let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let config = if self.unverified {
            config.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        } else if authorities.certificates.is_empty() {
            config.with_root_certificates(authorities.roots.clone())
        } else {
            let roots = Arc::new(authorities.roots.clone());
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            let others = verifier.map_err(|error| Error::General(error.to_string()))?;
            let verifier = OwnAuthority { others, certificates: authorities.certificates.clone() };
            config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        };
        match &self.identity {
            Some((chain, key)) => config.with_client_auth_cert(chain.clone(), key.clone_key()),
            None => Ok(config.with_no_client_auth()),
        }
    }
}

fn authorities(pem: &[u8]) -> Result<Authorities, String> {
    const PROBLEM: &str = "has a certificate authority that is no certificate in PEM form";
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|_| PROBLEM)?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|_| PROBLEM)?;
    }
    if certificates.is_empty() { Err(PROBLEM.to_owned()) } else { Ok(Authorities { roots, certificates }) }
}

fn identity(chain: &[u8], key: &[u8]) -> Result<Identity, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or("has a client certificate that is no certificate in PEM form")?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "has a client key that is no key in PEM form")?;
    Ok((chain, key))
}

fn systems_authorities() -> io::Result<Authorities> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A single one that cannot be read is none that this server needs, or the handshake says so.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let because = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(io::Error::other(format!("no certificate authorities on this system: {because}")));
    }
    Ok(Authorities { roots, certificates: Vec::new() })
}

/// Trusts a server that shows the very certificate of an authority, as one that signed its own does. Such a certificate
/// usually says that it is an authority's, with which no server is to be trusted otherwise.
#[derive(Debug)]
struct OwnAuthority {
    others: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

/// The only problem of a certificate that says so; its dates were found good before.
const OF_AN_AUTHORITY: &str = "CaUsedAsEndEntity";

impl ServerCertVerifier for OwnAuthority {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.others.verify_server_cert(shown, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if format!("{:?}", why.0) == OF_AN_AUTHORITY && self.certificates.iter().any(|own| own == shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.others.supported_verify_schemes()
    }
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
