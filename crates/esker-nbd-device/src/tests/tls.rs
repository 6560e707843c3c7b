//! Exports of servers that speak TLS.

use std::path::Path;

use esker_core::Hint;
use esker_testkit::Authority;
use esker_volume::{DeviceIo, DeviceLimits, IoChoice, OpenDevice};

use super::driver::WAYS;
use super::plain_server::{FLUSH, FUA, Offer, PlainServer};
use super::volume::{Checked, Lower};
use crate::{ExportDevice, ExportError, NbdUri};

/// Folders of certificates: `pki` of a server, `client`, `stranger` of another authority, and `any` of a client that
/// has none of its own.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        let (ours, other) = (Authority::new("esker"), Authority::new("esker"));
        for name in ["pki", "client", "any"] {
            std::fs::create_dir(this.folder(name)).unwrap();
            ours.write(&this.folder(name));
        }
        std::fs::create_dir(this.folder("stranger")).unwrap();
        other.write(&this.folder("stranger"));
        ours.issue(&this.folder("pki"), "server", 1);
        ours.issue(&this.folder("client"), "client", 2);
        other.issue(&this.folder("stranger"), "client", 2);
        this
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
}

fn with(uri: &NbdUri, certificates: &Path) -> NbdUri {
    NbdUri { certificates: Some(certificates.to_path_buf()), ..uri.clone() }
}

fn error(uri: &NbdUri) -> ExportError {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    ExportDevice::open("far", uri, &io, DeviceLimits::default()).err().expect("it is refused")
}

#[test]
fn a_volume_lies_on_exports_over_tls() {
    let certificates = Certificates::new();
    for (seed, choice) in (20..).zip(WAYS) {
        let servers = [(); 2].map(|()| Lower::encrypted(choice, &certificates.folder("pki")));
        let uris = servers.iter().map(|server| with(&server.uri(), &certificates.folder("client"))).collect();
        let mut checked = Checked::new(uris, choice, seed);
        for round in 0..40 {
            assert!(checked.round());
            assert!(round % 10 != 0 || checked.flush());
        }
        assert!(checked.flush());
        checked.open_again(choice);
    }
}

/// More than the sockets hold, both ways.
#[test]
fn long_requests_go_over_tls_as_they_are() {
    let certificates = Certificates::new();
    let server = Lower::encrypted(IoChoice::Best, &certificates.folder("pki"));
    let io = DeviceIo::start(IoChoice::Best).unwrap();
    let uri = with(&server.uri(), &certificates.folder("client"));
    let mut device = ExportDevice::open("far", &uri, &io, DeviceLimits::default()).unwrap();
    let bytes: Vec<u8> = (0..6usize << 20).map(|index| (index * 7 + index / 4096) as u8).collect();
    device.blocking().write(4096, &mut [std::io::IoSlice::new(&bytes)], true).unwrap();
    let mut found = vec![0; bytes.len()];
    device.blocking().read(4096, &mut found).unwrap();
    assert!(found == bytes);
}

#[test]
fn who_is_not_who_the_certificates_say_is_refused_with_what_to_do() {
    let certificates = Certificates::new();
    let server = Lower::encrypted(IoChoice::Best, &certificates.folder("pki"));
    let uri = server.uri();
    // The server is of another authority than this folder's; then the client is, or has no certificate.
    let unknown = error(&with(&uri, &certificates.folder("stranger")));
    assert!(unknown.to_string().contains("TLS: invalid peer certificate"), "{unknown}");
    let without = error(&with(&uri, &certificates.folder("any")));
    assert!(without.to_string().contains("TLS: received fatal alert"), "{without}");
    let plain = error(&uri);
    assert!(plain.hint().unwrap().starts_with("say nbds://"), "{plain}: {:?}", plain.hint());
    // A server without TLS learns nothing of the client.
    let open = PlainServer::new(Offer { size: 1 << 20, flags: FLUSH | FUA, blocks: None, lies: None });
    let refused = error(&with(&open.uri(), &certificates.folder("client")));
    assert!(refused.hint().unwrap().starts_with("nbd:// and nbd+unix://"), "{refused}: {:?}", refused.hint());
    // Files that are none.
    let nowhere = error(&with(&uri, Path::new("/nowhere")));
    assert!(nowhere.to_string().starts_with("/nowhere/ca-cert.pem: "), "{nowhere}");
    assert!(nowhere.hint().unwrap().contains("client-cert.pem") && !nowhere.is_missing());
    std::fs::write(certificates.folder("any").join("client-cert.pem"), "none").unwrap();
    let garbage = error(&with(&uri, &certificates.folder("any")));
    assert!(garbage.to_string().contains("there is no certificate in PEM form"), "{garbage}");
    // The right one is served all the while.
    let io = DeviceIo::start(IoChoice::Best).unwrap();
    let right = with(&uri, &certificates.folder("client"));
    let mut device = ExportDevice::open("far", &right, &io, DeviceLimits::default()).unwrap();
    device.blocking().flush().unwrap();
}
