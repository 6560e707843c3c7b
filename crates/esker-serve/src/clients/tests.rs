//! Clients that connect beside others.

use std::io::{IoSlice, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use esker_core::Bytes;
use esker_nbd::Export;
use esker_volume::IoChoice;
use tempfile::TempDir;

use super::*;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::address::Address;
use crate::memory::ServedMemory;
use crate::server::{LastWork, ServeSettings, Server};
use crate::testing::{Emptiness, header, opening, server, turn_until};

struct World {
    clients: Clients,
    io: DeviceIo,
    path: PathBuf,
    /// The other ends of the connections.
    streams: Vec<UnixStream>,
    _folder: TempDir,
}

impl World {
    fn new(connections_max: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, io) = (folder.path().join("socket"), DeviceIo::start(IoChoice::Threads).unwrap());
        let exports = Exports::new(vec![Export::new("disk".to_string(), Bytes::mib(1))], None).unwrap();
        let session = ServerSettings::default();
        let limits = ClientLimits { connections_max, session, tls: None, negotiation: Duration::from_secs(10) };
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

/// Has a session open its export, as if the client had sent `opening`.
fn open(connection: &mut Connection, opening: &[u8]) {
    if !connection.session.is_negotiating() {
        return;
    }
    connection.export = Some(0);
    let mut served = Emptiness::new(Bytes::mib(1));
    let mut memory = ServedMemory(&mut served);
    let mut left = opening;
    while connection.session.is_negotiating() {
        let bytes = pending(&connection.session);
        connection.session.sent(bytes, drop);
        if let Some(space) = connection.session.space().filter(|_| !left.is_empty()) {
            let count = left.len().min(space.len());
            space[..count].copy_from_slice(&left[..count]);
            left = &left[count..];
            connection.session.received(count);
        }
        while connection.session.next_event(&mut memory).is_some() {}
    }
}

/// Bytes that a session wants to send.
fn pending(session: &ServerSession<Payload, Data>) -> usize {
    let mut slices = [IoSlice::new(&[]); 8];
    let count = session.gather(&mut slices);
    slices[..count].iter().map(|slice| slice.len()).sum()
}

#[test]
fn who_connects_over_and_over_is_accepted_slowly_beside_a_client_that_asks() {
    let (mut world, start, ms) = (World::new(200), Nanos::from_secs(100), Nanos::from_millis);
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

#[test]
fn who_has_opened_no_export_gives_way_when_all_places_are_taken_and_others_do_not() {
    let (mut world, start, ms) = (World::new(3), Nanos::from_secs(100), Nanos::from_millis);
    world.connect(3);
    assert_eq!(world.accept(start), 3);
    world.clients.news = Some(Vec::new());
    let numbers = |world: &World| world.clients.connections.iter().map(|(number, _)| number).collect::<Vec<_>>();
    let first = numbers(&world);
    // The first has an export, with its session.
    let opening = [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &4u32.to_be_bytes(), b"disk"].concat();
    open(world.clients.connections.get_mut(first[0]).unwrap(), &opening);
    world.connect(1);
    assert_eq!(world.accept(start), 1);
    let after = numbers(&world);
    assert_eq!((after[0], after[1], after.len()), (first[0], first[2], 3), "the second had to go");
    let news: Vec<_> = world.clients.news.iter_mut().flat_map(|news| news.drain(..)).collect();
    assert!(matches!(&news[1], LogEvent::ClientLeft { reason: Some(_), .. }), "{news:?}");
    // Nobody takes the places of others faster than new clients come beside others.
    world.connect(100);
    assert_eq!(world.accept(start), 63);
    assert_eq!((world.accept(start + ms(9)), world.accept(start + ms(10))), (0, 1));
    assert_eq!(world.clients.next_admission(), start + ms(20));
    // Once all have an export, the others wait.
    for number in numbers(&world) {
        open(world.clients.connections.get_mut(number).unwrap(), &opening);
    }
    assert_eq!(world.accept(start + ms(5000)), 0);
    assert_eq!(world.clients.next_admission(), Nanos::NEVER);
}

#[test]
fn who_finds_no_place_is_told_of_once() {
    let (mut world, start) = (World::new(2), Nanos::from_secs(100));
    world.connect(2);
    assert_eq!(world.accept(start), 2);
    let opening = [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &4u32.to_be_bytes(), b"disk"].concat();
    world.clients.connections.iter_mut().for_each(|(_, connection)| open(connection, &opening));
    world.clients.news = Some(Vec::new());
    assert_eq!(world.accept(start), 0);
    assert_eq!(world.clients.news, Some(Vec::new()), "nobody waits");
    world.connect(1);
    for second in 0..100 {
        assert_eq!(world.accept(start + Nanos::from_secs(second)), 0);
    }
    let reason = "all 2 places are taken".to_string();
    assert_eq!(world.clients.news, Some(vec![LogEvent::ClientsWait { reason }]));
    // One leaves, and the place is taken again.
    let (first, _) = world.clients.connections.iter().next().unwrap();
    world.clients.connections.retain(|number, _| number != first);
    assert_eq!(world.accept(start + Nanos::from_secs(100)), 1);
    world.clients.connections.iter_mut().for_each(|(_, connection)| open(connection, &opening));
    world.connect(1);
    assert_eq!(world.accept(start + Nanos::from_secs(101)), 0);
    let waits = world.clients.news.iter().flatten().filter(|event| matches!(event, LogEvent::ClientsWait { .. }));
    assert_eq!(waits.count(), 2);
}

#[test]
fn who_cannot_be_accepted_is_tried_again_soon_and_told_of_once() {
    let (mut world, ms) = (World::new(3), Nanos::from_millis);
    world.clients.news = Some(Vec::new());
    // As long as nobody listens there, accepting fails as it does when the process may open no more files.
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let path = world.path.with_file_name("late");
    rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    let listens = socket.try_clone().unwrap();
    world.clients.listen(&world.io, Listener::inherited(socket).unwrap()).unwrap();
    world.connect(1);
    let start = Nanos::from_secs(100);
    assert_eq!(world.accept(start), 1, "another listener does not mind");
    let mut tries = 0;
    for at in (0..2900).map(|at| start + ms(at)) {
        tries += u64::from(world.clients.next_admission() <= at);
        world.accept(at);
    }
    assert_eq!(tries, 5, "twice a second");
    rustix::net::listen(&listens, 8).unwrap();
    world.streams.push(UnixStream::connect(&path).unwrap());
    assert_eq!((world.accept(start + ms(2900)), world.accept(start + ms(3000))), (0, 1));
    let news: Vec<String> = world.clients.news.iter().flatten().map(ToString::to_string).collect();
    let waits = news.iter().filter(|text| text.starts_with("clients wait: nobody else can be accepted: "));
    assert_eq!(waits.count(), 1, "{news:?}");
}

#[test]
fn requests_of_clients_that_have_left_keep_their_places_until_they_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let settings = ServeSettings { connections_max: 4, ..ServeSettings::default() };
    let mut served = Emptiness::new(Bytes::mib(1));
    served.is_silent = true;
    let mut server = server(served, &path, settings);
    let write = [opening(), header(1, 32_768), vec![7; 32_768]].concat();
    let some_turns = |server: &mut Server<Emptiness>| {
        for _ in 0..4 {
            server.turn();
            server.wait(Some(Duration::from_millis(1)));
        }
    };
    for round in 1..=200 {
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(&write).unwrap();
        some_turns(&mut server);
        drop(client);
        some_turns(&mut server);
        let bytes = server.served(0).bytes_under_way();
        assert!(bytes <= 4 * 32_768, "{bytes} bytes are under way after {round} rounds");
        if round % 50 == 0 {
            assert_eq!((bytes, server.status(0).connections), (4 * 32_768, Vec::new()));
            server.served_mut(0).is_silent = false;
            turn_until(&mut server, |server| server.served(0).bytes_under_way() == 0);
            server.served_mut(0).is_silent = true;
        }
    }
    server.served_mut(0).is_silent = false;
    assert_eq!(server.run(|| true), LastWork::Done);
}
