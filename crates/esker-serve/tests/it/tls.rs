//! Clients over TLS: those that may connect, and those that may not.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use esker_core::{Bytes, Hint};
use esker_nbd::Command;
use esker_serve::{LogEvent, ServeSettings, Tls, TlsClients, VolumeStatus};
use esker_testkit::Authority;
use esker_volume::IoChoice;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::client::{Client, stream};
use super::served::{Home, Running};

const REVOKED: u64 = 66;

/// Certificates in folders: those of the server, of clients, and of strangers.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Self {
        let certificates = Self { folder: tempfile::tempdir().unwrap() };
        let (ours, other) = (Authority::new("esker"), Authority::new("esker"));
        let server = certificates.path("server");
        ours.write(&server);
        ours.issue(&server, "server", 1);
        ours.revoke(&server, REVOKED);
        for (folder, authority, serial, year) in [
            ("client", &ours, 2, 4000),
            ("revoked", &ours, REVOKED, 4000),
            ("expired", &ours, 3, 2021),
            ("stranger", &other, 2, 4000),
        ] {
            // All of them know the server.
            ours.write(&certificates.path(folder));
            authority.issue_until(&certificates.path(folder), "client", serial, year);
        }
        ours.write(&certificates.path("nobody"));
        certificates
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self, clients: TlsClients) -> Tls {
        Tls::of_folder(&self.path("server"), clients).unwrap()
    }

    /// A client with what is in the folder `name`.
    fn client(&self, name: &str, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
        let folder = self.path(name);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(folder.join("ca-cert.pem")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_protocol_versions(&[version]).unwrap().with_root_certificates(roots);
        Arc::new(match CertificateDer::from_pem_file(folder.join("client-cert.pem")) {
            Ok(certificate) => {
                let key = PrivateKeyDer::from_pem_file(folder.join("client-key.pem")).unwrap();
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
            Err(_) => config.with_no_client_auth(),
        })
    }
}

fn settings(tls: Tls) -> ServeSettings {
    ServeSettings { tls: Some(tls), ..ServeSettings::default() }
}

/// Asks for TLS by hand, and returns the connection once the server has agreed.
fn agreed(socket: &Path) -> UnixStream {
    let mut stream = stream(socket);
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&[&3u32.to_be_bytes()[..], b"IHAVEOPT", &5u32.to_be_bytes(), &[0; 4]].concat()).unwrap();
    let mut reply = [0; 20];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[12..16], 1u32.to_be_bytes(), "it is acknowledged");
    stream
}

fn reads(server: &Running) -> (u64, u64) {
    let status: VolumeStatus = server.status();
    (status.serving.requests.reads, status.serving.requests.writes)
}

#[test]
fn what_is_written_over_tls_is_read_by_others() {
    let certificates = Certificates::new();
    for (choice, version) in
        [(IoChoice::Best, &TLS13), (IoChoice::Threads, &TLS13), (IoChoice::Best, &TLS12), (IoChoice::Threads, &TLS12)]
    {
        let home = Home::new(Bytes::mib(16));
        let server = home.serve(choice, settings(certificates.server(TlsClients::Certified)));
        let tls = certificates.client("client", version);
        let mut client = Client::connect_with(&server.socket, &tls).unwrap();
        let mut other = Client::connect_with(&server.socket, &tls).unwrap();
        let bytes: Vec<u8> = (0..3 << 20).map(|index: usize| (index / 7) as u8).collect();
        client.write(512, &bytes, true).unwrap();
        assert!(other.read(512, 3 << 20).unwrap() == bytes);
        // Many at a time, whose answers are more than the sockets hold.
        for id in 0..60 {
            other.submit(id, Command::Read { offset: 0, length: 1 << 20, in_one_piece: true }, Some(vec![0; 1 << 20]));
        }
        other.begin();
        for _ in 0..50 {
            assert!(client.read(512, 4096).unwrap() == bytes[..4096]);
        }
        for _ in 0..60 {
            assert!(other.done().buffer.unwrap()[512..] == bytes[..(1 << 20) - 512]);
        }
    }
}

#[test]
fn who_may_not_connect_reads_nothing_and_disturbs_nobody() {
    let certificates = Certificates::new();
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, settings(certificates.server(TlsClients::Certified)));
    let mut client = Client::connect_with(&server.socket, &certificates.client("client", &TLS13)).unwrap();
    client.write(0, &[7; 4096], false).unwrap();
    let before = reads(&server);
    for version in [&TLS12, &TLS13] {
        for name in ["stranger", "expired", "revoked", "nobody"] {
            let refused = Client::connect_with(&server.socket, &certificates.client(name, version));
            assert!(refused.is_err(), "{name} opens the export");
        }
    }
    let refused = Client::over(stream(&server.socket), None).err().unwrap();
    assert!(refused.contains("TLS has to be started first"), "{refused}");
    for garbage in
        [&[0; 4096][..], b"IHAVEOPT\0\0\0\x07\0\0\0\0", &[22, 3, 3, 255, 255], &[22, 3, 1, 0, 4, 1, 255, 255, 255]]
    {
        let mut stream = agreed(&server.socket);
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        assert!(said.len() < 100, "{garbage:?}: {} bytes", said.len());
    }
    assert_eq!(reads(&server), before);
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
    let events = Arc::clone(&server.events);
    drop(server);
    let is_refused = |(_, event): &&(Option<String>, LogEvent)| match event {
        LogEvent::ClientLeft { reason: Some(reason), .. } => reason.starts_with("TLS: "),
        _ => false,
    };
    // Two versions of four certificates, and garbage that is no beginning of a record.
    assert!(events.lock().unwrap().iter().filter(is_refused).count() >= 9, "{events:?}");
}

#[test]
fn where_everybody_may_connect_a_certificate_is_not_asked_for() {
    let certificates = Certificates::new();
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, settings(certificates.server(TlsClients::Any)));
    let mut client = Client::connect_with(&server.socket, &certificates.client("nobody", &TLS13)).unwrap();
    client.write(0, &[1; 512], false).unwrap();
    assert!(Client::over(stream(&server.socket), None).is_err());
    drop(server);
    let mut offered = certificates.server(TlsClients::Certified);
    offered.is_required = false;
    let server = home.serve(IoChoice::Best, settings(offered));
    assert_eq!(Client::connect(&server.socket).read(0, 512).unwrap(), [1; 512]);
    let mut client = Client::connect_with(&server.socket, &certificates.client("client", &TLS12)).unwrap();
    assert_eq!(client.read(0, 512).unwrap(), [1; 512]);
    assert!(Client::connect_with(&server.socket, &certificates.client("stranger", &TLS12)).is_err());
}

#[test]
fn many_who_start_tls_at_once_are_all_served() {
    let certificates = Certificates::new();
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, settings(certificates.server(TlsClients::Certified)));
    let tls = certificates.client("client", &TLS13);
    // They have all asked for TLS before any of them goes on.
    let waiting: Vec<UnixStream> = (0..20).map(|_| agreed(&server.socket)).collect();
    std::thread::scope(|scope| {
        for _ in 0..40 {
            let (socket, tls) = (&server.socket, &tls);
            scope.spawn(move || Client::connect_with(socket, tls).unwrap().read(0, 512).unwrap());
        }
    });
    drop(waiting);
    assert_eq!(reads(&server).0, 40);
}

#[test]
fn who_is_slow_to_start_tls_has_to_leave() {
    let certificates = Certificates::new();
    let home = Home::new(Bytes::mib(16));
    let limited = ServeSettings {
        connections_max: 3,
        negotiation_limit: Duration::from_millis(300),
        ..settings(certificates.server(TlsClients::Certified))
    };
    let server = home.serve(IoChoice::Best, limited);
    let mut silent = agreed(&server.socket);
    let mut slow = agreed(&server.socket);
    // The first bytes of a handshake.
    slow.write_all(&[22, 3, 1, 1, 0, 1, 0, 0, 252]).unwrap();
    let mut begun = agreed(&server.socket);
    let tls = certificates.client("client", &TLS13);
    // It is served once they are gone.
    let mut client = Client::connect_with(&server.socket, &tls).unwrap();
    client.write(0, &[1; 512], false).unwrap();
    for stream in [&mut silent, &mut slow, &mut begun] {
        assert_eq!(stream.read(&mut [0; 100]).unwrap_or(0), 0, "it is closed");
    }
    assert_eq!(client.read(0, 512).unwrap(), [1; 512]);
}

#[test]
fn who_breaks_tls_later_loses_the_connection_and_nobody_else() {
    let certificates = Certificates::new();
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, settings(certificates.server(TlsClients::Certified)));
    let tls = certificates.client("client", &TLS13);
    let mut client = Client::connect_with(&server.socket, &tls).unwrap();
    client.write(0, &[5; 4096], false).unwrap();
    let before = reads(&server);
    for garbage in [&[23, 3, 3, 0, 40][..], &[0; 64], b"GET / HTTP/1.1\r\n\r\n"] {
        let plain = stream(&server.socket);
        let mut broken = Client::over(plain.try_clone().unwrap(), Some(&tls)).unwrap();
        (&plain).write_all(&[garbage, &[1; 100][..]].concat()).unwrap();
        broken.submit(1, Command::Read { offset: 0, length: 4096, in_one_piece: true }, Some(vec![0; 4096]));
        broken.begin();
        assert!(broken.try_done().is_none(), "it is closed");
    }
    assert_eq!(reads(&server), before, "nothing behind the garbage is taken");
    assert_eq!(client.read(0, 4096).unwrap(), [5; 4096]);
}

#[test]
fn what_is_wrong_with_certificates_is_said_with_what_to_do() {
    let certificates = Certificates::new();
    let (ours, server) = (Authority::new("another"), certificates.path("server"));
    let expect = |file: &str, says: &str, hint: &str| {
        let error = Tls::of_folder(&server, TlsClients::Certified).unwrap_err();
        let (text, advice) = (error.to_string(), error.hint().unwrap());
        assert!(text.contains(file) && text.contains(says) && advice.contains(hint), "{text}\n{advice}");
    };
    let with = |name: &str, bytes: &[u8], says: &str, hint: &str| {
        let path = server.join(name);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        expect(name, says, hint);
        std::fs::remove_file(&path).unwrap();
        if name != "ca-crl.pem" {
            expect(name, "No such file", "the folder has server-cert.pem");
        }
        std::fs::write(&path, before).unwrap();
    };
    let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    with("server-cert.pem", b"", "no certificate in PEM form", "openssl x509");
    with("server-cert.pem", broken, "", "X.509 version 3");
    with("server-key.pem", b"secret", "no private key in PEM form", "no password");
    with("ca-cert.pem", broken, "", "X.509 version 3");
    with("ca-crl.pem", b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "", "X.509 version 3");
    ours.issue(&certificates.path("other"), "server", 9);
    let other = std::fs::read(certificates.path("other").join("server-key.pem")).unwrap();
    with("server-key.pem", &other, "not the key of the certificate", "together");
    ours.issue_until(&server, "server", 9, 2021);
    expect("server-cert.pem", "has expired", "clock");
}
