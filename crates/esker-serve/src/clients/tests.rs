//! Clients that connect beside others.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use esker_core::Bytes;
use esker_nbd::Export;
use esker_volume::IoChoice;
use tempfile::TempDir;

use super::*;
use crate::address::Address;

struct World {
    clients: Clients,
    io: DeviceIo,
    path: PathBuf,
    /// The other ends of the connections.
    streams: Vec<UnixStream>,
    _folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, io) = (folder.path().join("socket"), DeviceIo::start(IoChoice::Threads).unwrap());
        let exports = Exports::new(vec![Export::new("disk".to_string(), Bytes::mib(1))], None).unwrap();
        let session = ServerSettings::default();
        let limits = ClientLimits { connections_max: 200, session, tls: None, negotiation: Duration::from_secs(10) };
        let mut clients = Clients::new(limits, Arc::new(exports));
        clients.listen(&io, Listener::bind(&Address::Unix(path.clone())).unwrap()).unwrap();
        Self { clients, io, path, streams: Vec::new(), _folder: folder }
    }

    /// Has this many connect.
    fn connect(&mut self, count: usize) {
        self.streams.extend((0..count).map(|_| UnixStream::connect(&self.path).unwrap()));
        while !self.clients.connections.have_somebody_waiting() {
            self.io.wait(Some(Duration::from_secs(1)));
        }
    }

    /// Has the first client ask for something, as if it had opened the export.
    fn ask(&mut self, now: Nanos) {
        let (_, first) = self.clients.connections.iter_mut().next().unwrap();
        first.export = Some(0);
        first.demand.served(now, (1, 64), true);
    }

    /// Accepts all who are let in now.
    fn accept(&mut self, now: Nanos) -> usize {
        std::iter::from_fn(|| self.clients.accept(&self.io, now).then_some(())).count()
    }
}

#[test]
fn who_connects_over_and_over_is_accepted_slowly_beside_a_client_that_asks() {
    let (mut world, start, ms) = (World::new(), Nanos::from_secs(100), Nanos::from_millis);
    world.connect(20);
    assert_eq!(world.accept(start), 20);
    world.connect(100);
    let mut left = 100;
    for (after, expected) in [(ms(0), 64), (ms(9), 0), (ms(10), 1), (ms(60), 5), (ms(61), 0)] {
        world.ask(start + after);
        assert_eq!(world.accept(start + after), expected, "after {after}");
        left -= expected;
    }
    assert_eq!(world.clients.next_admission(), start + ms(70));
    // While nothing is begun, nobody is waited for.
    world.clients.hold(true);
    assert_eq!(world.clients.next_admission(), Nanos::NEVER);
    world.clients.hold(false);
    // It has asked for nothing for a while.
    assert_eq!(world.accept(start + ms(62)), left);
    assert_eq!(world.clients.next_admission(), Nanos::NEVER);
}
