//! Certificates for tests of TLS.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// Signs certificates. They are written into folders, under the names that QEMU, nbdkit and libnbd read.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// A new authority. Two of the same name have different keys.
    pub fn new(name: &str) -> Self {
        let mut settings = settings(name);
        settings.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        settings.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = settings.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(settings, key), certificate }
    }

    /// Writes `ca-cert.pem`, the certificate of the authority itself.
    pub fn write(&self, folder: &Path) {
        write(folder, "ca-cert.pem", &self.certificate);
    }

    /// Writes `NAME-cert.pem` and `NAME-key.pem`, a certificate for `localhost` with this serial number.
    pub fn issue(&self, folder: &Path, name: &str, serial: u64) {
        self.issue_until(folder, name, serial, 4000);
    }

    /// Like [`Self::issue`]; the certificate ends with the beginning of that year.
    pub fn issue_until(&self, folder: &Path, name: &str, serial: u64, year: i32) {
        let mut settings = settings(name);
        settings.serial_number = Some(SerialNumber::from(serial));
        settings.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = settings.signed_by(&key, &self.issuer).expect("a certificate");
        write(folder, &format!("{name}-cert.pem"), &certificate.pem());
        write(folder, &format!("{name}-key.pem"), &key.serialize_pem());
    }

    /// Writes `ca-crl.pem`, which revokes the certificate with this serial number.
    pub fn revoke(&self, folder: &Path, serial: u64) {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        write(folder, "ca-crl.pem", &list.signed_by(&self.issuer).expect("a list").pem().expect("a list"));
    }
}

fn settings(name: &str) -> CertificateParams {
    let names = vec!["localhost".to_string(), "127.0.0.1".to_string()];
    let mut settings = CertificateParams::new(names).expect("names of hosts");
    settings.distinguished_name.push(DnType::CommonName, name);
    settings.not_before = date_time_ymd(2020, 1, 1);
    settings
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join(name), text).expect("a file in it");
}
