//! An authority that gives out certificates.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::test_cluster::TestCluster;

/// An authority, and files with certificates that it gave out.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority with a new key.
    pub fn generate() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        Authority {
            issuer: issuer.unwrap(),
        }
    }

    /// Writes NAME.ca, NAME.cert and NAME.key, for a host.
    pub fn write(&self, cluster: &TestCluster<'_>, name: &str, host: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |what: &str| -> PathBuf { cluster.path(&format!("{name}.{what}")) };
        fs::write(file("ca"), self.issuer.pem()).unwrap();
        fs::write(file("cert"), certificate.pem()).unwrap();
        fs::write(file("key"), key.serialize_pem()).unwrap();
    }
}
