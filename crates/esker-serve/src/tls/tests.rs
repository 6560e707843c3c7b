//! How much memory TLS takes of the server, whatever a client does.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use esker_testkit::Authority;
use esker_volume::{DeviceIo, IoChoice};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::*;
use crate::socket::Socket;

/// What `docs/serving.md` says.
const BOUND: i64 = 256 << 10;

/// A session whose memory is counted, and the client at the other end.
struct Counted {
    io: DeviceIo,
    socket: Socket,
    session: TlsSession,
    client: ClientConnection,
    stream: UnixStream,
    /// Bytes of memory: now, and the most until now.
    held: i64,
    peak: i64,
}

impl Counted {
    /// The client sends its certificate, and the same one behind it until there are as many as `certificates`.
    fn new(certificates: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("esker");
        authority.write(folder.path());
        authority.issue(folder.path(), "server", 1);
        authority.issue(folder.path(), "client", 2);
        let tls = Tls::of_folder(folder.path(), TlsClients::Certified).unwrap();
        let certificate = |name: &str| CertificateDer::from_pem_file(folder.path().join(name)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate("ca-cert.pem")).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let key = PrivateKeyDer::from_pem_file(folder.path().join("client-key.pem")).unwrap();
        let chain = vec![certificate("client-cert.pem"); certificates];
        let config = Arc::new(config.with_client_auth_cert(chain, key).unwrap());
        let mut client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        client.set_buffer_limit(None);
        let (here, stream) = UnixStream::pair().unwrap();
        [&here, &stream].into_iter().for_each(|end| end.set_nonblocking(true).unwrap());
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let socket = Socket::new(&io, OwnedFd::from(here)).unwrap();
        let mut session = None;
        let taken = allocation_counter::measure(|| session = Some(TlsSession::new(&tls.config)));
        let (held, peak) = (taken.bytes_current, taken.bytes_max as i64);
        Self { io, socket, session: session.unwrap(), client, stream, held, peak }
    }

    /// Has the server do something.
    fn count<T>(&mut self, work: impl FnOnce(&mut TlsSession, &mut Socket) -> T) -> T {
        let mut done = None;
        let taken = allocation_counter::measure(|| done = Some(work(&mut self.session, &mut self.socket)));
        self.peak = self.peak.max(self.held + taken.bytes_max as i64);
        self.held += taken.bytes_current;
        // Everything that is sent is there at once, but a wait has to notice it.
        self.io.wait(Some(std::time::Duration::ZERO));
        done.unwrap()
    }

    /// Sends what the client has to send, in pieces of at most `length` bytes, each of which the server takes.
    fn shake_hands(&mut self, length: usize) {
        let mut bytes = Vec::new();
        while self.client.is_handshaking() || self.client.wants_write() {
            self.client.write_tls(&mut bytes).unwrap();
            for piece in std::mem::take(&mut bytes).chunks(length) {
                (&self.stream).write_all(piece).unwrap();
                let read = self.count(|session, socket| session.read(socket, &mut [0; 10]));
                assert_eq!(read, 0, "nothing is inside of TLS yet");
            }
            self.count(|session, socket| session.flush(socket));
            if self.session.has_ended() {
                return;
            }
            if self.client.read_tls(&mut &self.stream).is_ok() {
                self.client.process_new_packets().unwrap();
            }
        }
    }
}

#[test]
fn a_session_takes_no_more_memory_than_it_says() {
    let mut counted = Counted::new(100);
    counted.shake_hands(777);
    assert!(!counted.session.has_ended());
    // A client that sends much; the server takes little of it at a time.
    counted.client.writer().write_all(&[7; 1 << 20]).unwrap();
    let (mut received, mut space) = (0, [0; 1000]);
    while received < 1 << 20 {
        while counted.client.wants_write() && counted.client.write_tls(&mut &counted.stream).is_ok() {}
        let count = counted.count(|session, socket| session.read(socket, &mut space));
        assert!(space[..count].iter().all(|&byte| byte == 7));
        received += count;
    }
    // One that reads nothing until the server has no more room.
    let data = vec![8; 1 << 20];
    let mut sent = 0;
    loop {
        let count = counted.count(|session, socket| session.send(socket, &[std::io::IoSlice::new(&data)]));
        sent += count;
        if count == 0 {
            break;
        }
    }
    assert!(counted.session.has_output());
    let mut read = 0;
    while read < sent {
        while counted.client.read_tls(&mut &counted.stream).is_ok() {
            counted.client.process_new_packets().unwrap();
            read += counted.client.reader().read(&mut [0; 40_000]).unwrap_or(0);
        }
        counted.count(|session, socket| session.flush(socket));
    }
    assert_eq!(read, sent);
    assert!((100_000..BOUND).contains(&counted.peak), "{} bytes", counted.peak);
}

#[test]
fn a_handshake_that_does_not_end_is_not_kept() {
    let mut counted = Counted::new(400);
    counted.shake_hands(4000);
    assert!(counted.session.has_ended() && counted.peak < BOUND, "{} bytes", counted.peak);
}
