//! TLS: with whom it is spoken, and with whom not.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto, version};

use super::*;
use crate::authorities;

/// An authority of this test's own.
pub(super) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { pem, issuer: Issuer::new(params, key) }
    }

    pub(super) fn trusted(&self) -> Vec<CertificateDer<'static>> {
        authorities(self.pem.as_bytes()).unwrap()
    }

    /// How a server speaks TLS that it has certified for these names.
    pub(super) fn certify(&self, names: &[&str], year_end: i32) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(year_end, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap())
    }
}

/// A server that answers over TLS with what it was asked, and keeps that.
pub(super) async fn secure(config: Arc<ServerConfig>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (config, kept) = (config.clone(), kept.clone());
            tokio::spawn(async move {
                // A client that does not trust it goes away.
                let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await else { return };
                let mut bytes = vec![0; 8 << 10];
                let count = stream.read(&mut bytes).await.unwrap();
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                kept.lock().unwrap().push(text.clone());
                let _ = stream.write_all(&response("200 OK", &[], &text)).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    Server { address, asked }
}

pub(super) const YEAR_FAR: i32 = 2999;

async fn asking(egress: &Egress, grants: &[HttpGrant], url: &str) -> Result<HttpAnswer, HttpFailure> {
    let secrets = BTreeMap::from([(("test/b".to_owned(), "key".to_owned()), Secret::new(CANARY))]);
    let pass = Pass { grants, bundle: "test/b", secrets: &secrets, key: None };
    egress.fetch(&pass, &get(url)).await
}

#[tokio::test]
async fn a_server_that_is_who_it_says_gets_the_request_and_the_secret() {
    let authority = Authority::new("ours");
    let server = secure(authority.certify(&["api.example.com", "127.0.0.1"], YEAR_FAR)).await;
    let port = server.address.port();
    let network = Fake::to(&server).name("api.example.com", &[&["8.8.8.8"]]);
    let egress = trusting(&network, bounds(), &authority.trusted());
    let grants = [
        with_secret(grant(Scheme::Https, "api.example.com", &["GET"])),
        grant(Scheme::Https, &format!("127.0.0.1:{port}"), &["GET"]),
    ];
    let said = text(asking(&egress, &grants, "https://api.example.com/a?b").await);
    assert!(said.starts_with("GET /a?b HTTP/1.1\r\nhost: api.example.com\r\n"), "{said}");
    assert!(said.contains("authorization: Bearer [secret]") && server.asked()[0].contains(CANARY));
    assert_eq!(network.dialled(), ["8.8.8.8:443"]);
    let said = text(asking(&egress, &grants, &format!("https://127.0.0.1:{port}/")).await);
    assert!(said.contains(&format!("host: 127.0.0.1:{port}")), "{said}");
}

#[tokio::test]
async fn a_server_that_is_somebody_else_gets_nothing() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("a stranger"));
    for (config, trusted, says) in [
        (stranger.certify(&["api.example.com"], YEAR_FAR), authority.trusted(), "UnknownIssuer"),
        (authority.certify(&["api.example.com"], YEAR_FAR), Vec::new(), "UnknownIssuer"),
        (authority.certify(&["other.example.com"], YEAR_FAR), authority.trusted(), "not valid for name"),
        (authority.certify(&["8.8.8.8", "127.0.0.1"], YEAR_FAR), authority.trusted(), "not valid for name"),
        (authority.certify(&["api.example.com"], 2002), authority.trusted(), "expired"),
    ] {
        let server = secure(config).await;
        let network = Fake::to(&server).name("api.example.com", &[&["8.8.8.8"]]);
        let egress = trusting(&network, bounds(), &trusted);
        let grants = [with_secret(grant(Scheme::Https, "api.example.com", &["GET"]))];
        let result = asking(&egress, &grants, "https://api.example.com/").await;
        let told =
            matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("TLS") && why.contains(says));
        assert!(told, "{says}: {result:?}");
        assert!(server.asked().is_empty());
    }
}

/// A server that begins to speak TLS and never ends does not hold a request for ever.
#[tokio::test]
async fn a_handshake_comes_to_an_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = HttpLimits { connect: Duration::from_millis(200), ..bounds() };
    let grants = [grant(Scheme::Https, &address.to_string(), &["GET"])];
    let result =
        asking(&trusting(&Fake::default(), limits, &[]), &grants, &format!("https://{address}/")).await;
    assert_eq!(result, Err(HttpFailure::TimedOut));
    drop(listener);
}

#[test]
fn what_holds_no_authority_is_told_apart() {
    let pem = Authority::new("ours").pem;
    assert_eq!(authorities(format!("# ours\n{pem}\n{pem}").as_bytes()).unwrap().len(), 2);
    let cut = pem.replace("-----END CERTIFICATE-----", "");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (text, says) in
        [("", "holds no certificate"), (&*cut, "not PEM"), (broken, "certificate 1 of it is invalid")]
    {
        let why = authorities(text.as_bytes()).unwrap_err();
        assert!(why.contains(says), "{says}: {why}");
    }
}
