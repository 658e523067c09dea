//! Whom the way out takes for who it says it is: TLS as rustls does it over ring, with Mozilla's list of
//! authorities as it was built in, and those that the operator adds. No client certificate, and nothing of one
//! connection is kept for the next.

use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// Reads certificates of authorities, as PEM.
///
/// # Errors
/// What is wrong with the text.
pub fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| format!("it is not PEM: {error}"))?;
    if read.is_empty() {
        return Err("it holds no certificate: what begins with `-----BEGIN CERTIFICATE-----`".into());
    }
    let mut roots = RootCertStore::empty();
    for (nth, certificate) in (1..).zip(&read) {
        roots
            .add(certificate.clone())
            .map_err(|error| format!("certificate {nth} of it is invalid: {error}"))?;
    }
    Ok(read)
}

/// How TLS is done, trusting these authorities too.
///
/// # Errors
/// One of them is invalid, or TLS cannot be done at all.
pub(super) fn tls(more: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in more {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}
