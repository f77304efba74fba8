//! TLS: the certificate that we show, and whose we believe.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

/// Who we are, by these certificates and their key (PEM), to callers of whom we ask for a certificate by
/// one of these authorities, if any are given.
///
/// # Errors
/// If the files hold something else, or do not belong together.
pub fn acceptor(
    certificates: &[u8],
    key: &[u8],
    authorities: Option<&[u8]>,
) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match authorities {
        None => config.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in read(authorities, Part::Authority)? {
                roots.add(authority)?;
            }
            let roots = Arc::new(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            config.with_client_cert_verifier(verifier.build()?)
        }
    };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|why| TlsError::Pem(Part::Key, why))?;
    let mut config = config.with_single_cert(read(certificates, Part::Certificate)?, key)?;
    config.alpn_protocols.push(b"h2".to_vec());
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The certificates of a file, at least one.
fn read(text: &[u8], what: Part) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(TlsError::Pem(what, pem::Error::NoItemsFound)),
        Err(why) => Err(TlsError::Pem(what, why)),
    }
}

/// The file that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The certificates.
    Certificate,
    /// Their key.
    Key,
    /// The callers' authorities.
    Authority,
}

impl TlsError {
    /// The file that the error is about. Where certificate and key do not fit together it is the certificate.
    #[must_use]
    pub const fn part(&self) -> Part {
        match self {
            TlsError::Pem(part, _) => *part,
            TlsError::Use(_) => Part::Certificate,
            TlsError::Authority(_) => Part::Authority,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Certificate => "certificate",
            Part::Key => "key",
            Part::Authority => "authority's certificate",
        })
    }
}

/// Why there is no TLS.
#[derive(Debug)]
pub enum TlsError {
    /// A file does not hold what it should.
    Pem(Part, pem::Error),
    /// The certificate and the key do not fit together, or cannot be used.
    Use(rustls::Error),
    /// The authorities cannot be used.
    Authority(VerifierBuilderError),
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        TlsError::Use(error)
    }
}

impl From<VerifierBuilderError> for TlsError {
    fn from(error: VerifierBuilderError) -> Self {
        TlsError::Authority(error)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::Pem(what, why) => write!(f, "there is no {what} (PEM) in its file: {why}"),
            TlsError::Use(why) => write!(f, "unusable certificate or key: {why}"),
            TlsError::Authority(why) => {
                write!(f, "unusable certificate authority of callers: {why}")
            }
        }
    }
}

impl std::error::Error for TlsError {}
