use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use esker_volume::{DeviceIo, IoChoice};

use super::items::{Receiver, send};
use super::successor::CONFIRMATION;
use super::*;
use crate::address::Address;
use crate::held::{Handover, HeldClient, HeldExport, HeldOperator, Role};
use crate::listener::Listener;
use crate::status::RequestCounts;

/// Two exports, a listener, a client and an operator; and the other end of the client's connection.
fn handover(folder: &tempfile::TempDir) -> (Handover, UnixStream) {
    let listener = Listener::bind(&Address::Unix(folder.path().join("socket"))).unwrap();
    let (here, there) = UnixStream::pair().unwrap();
    let socket = Arc::new(OwnedFd::from(here));
    let client = HeldClient { socket, peer: "p".to_string(), session: vec![10, 0, 7] };
    let (here, _) = UnixStream::pair().unwrap();
    let operator = HeldOperator { export: 1, socket: Arc::new(here.into()), input: b"{\"com".to_vec() };
    let exports = ["one", "two"].map(|name| HeldExport {
        name: name.to_string(),
        description: format!("number {name}"),
        requests: RequestCounts { reads: name.len() as u64 + 2, ..RequestCounts::default() },
    });
    let (exports, listeners) = (exports.to_vec(), vec![(Role::Clients, listener)]);
    (Handover { exports, listeners, clients: vec![client], operators: vec![operator], requires_tls: true }, there)
}

/// The bytes of a hand-over, without sockets.
fn bytes(handover: &Handover) -> Vec<u8> {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    send(&mut here, handover).unwrap();
    drop(here);
    let mut bytes = Vec::new();
    there.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn sockets_and_bytes_arrive_with_what_they_belong_to() {
    let folder = tempfile::tempdir().unwrap();
    let (sent, mut client) = handover(&folder);
    let (mut here, there) = UnixStream::pair().unwrap();
    send(&mut here, &sent).unwrap();
    let Ok(mut found) = Receiver::new(there).handover() else { panic!("it does not arrive") };
    let operator = &found.operators[0];
    assert_eq!((found.clients(), operator.export, &operator.input[..]), (1, 1, &b"{\"com"[..]));
    assert!(found.requires_tls && found.exports == sent.exports && found.exports.len() == 2);
    let HeldClient { socket, peer, session } = found.clients.remove(0);
    assert_eq!((&*peer, &session[..]), ("p", &[10, 0, 7][..]));
    rustix::io::write(&socket, b"there").unwrap();
    let mut read = [0; 5];
    client.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"there");
    // The file of a socket that was not released stays; the owner removes it.
    let path = folder.path().join("socket");
    let (role, listener) = found.listeners.remove(0);
    assert!(role == Role::Clients && listener.is_at(&Address::Unix(path.clone())));
    let _waits = UnixStream::connect(&path).unwrap();
    assert!(listener.accept().unwrap().is_some());
    drop(listener);
    assert!(path.exists());
    drop(sent);
    assert!(!path.exists());
}

#[test]
fn what_is_cut_off_or_no_hand_over_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (sent, _client) = handover(&folder);
    let whole = bytes(&sent);
    // Without its sockets it is none, however much of it comes.
    for length in 0..=whole.len() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&whole[..length]).unwrap();
        drop(here);
        assert!(Receiver::new(there).handover().is_err(), "{length} bytes");
    }
    for line in ["{}\n", "null\n", "{\"client\":{\"peer\":\"p\",\"bytes\":99999999999}}\n", "\n"] {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(line.as_bytes()).unwrap();
        drop(here);
        assert!(Receiver::new(there).handover().is_err(), "{line}");
    }
}

/// A successor, and what is its own end of the connection.
fn successor(io: &DeviceIo) -> (Successor, UnixStream) {
    Successor::of_exports(&["one", "two"], io)
}

#[test]
fn other_exports_are_not_handed_over() {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let (new, _there) = successor(&io);
    assert_eq!(new.problem(&["one", "two"]), None);
    for others in [&["one"][..], &["two", "one"], &["one", "two", "three"], &[]] {
        let problem = new.problem(others).unwrap();
        assert!(problem.message.starts_with("it would serve one, two, and"), "{problem}");
        assert!(problem.hint.unwrap().starts_with("name the same in the same order"));
    }
}

#[test]
fn the_confirmation_decides_who_serves() {
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let long = Duration::from_secs(60);
    // It leaves at once.
    let (new, there) = successor(&io);
    drop(there);
    assert!(new.hand(handover(&folder).0, long).is_some_and(|(_, former)| former.has_gone()));
    // It leaves when it has everything.
    let (new, there) = successor(&io);
    let leaves = std::thread::spawn(move || Receiver::new(there).handover().is_ok());
    assert!(new.hand(handover(&folder).0, long).is_some());
    assert!(leaves.join().unwrap());
    // It serves: the socket's file stays.
    let (new, there) = successor(&io);
    let serves = std::thread::spawn(move || {
        let mut server = Receiver::new(there);
        let received = server.handover();
        Predecessor::of(server).release().unwrap();
        received.is_ok()
    });
    assert!(new.hand(handover(&folder).0, long).is_none());
    assert!(serves.join().unwrap() && folder.path().join("socket").exists());
    std::fs::remove_file(folder.path().join("socket")).unwrap();
    // It takes too long, and is told so: its confirmation cannot be sent any more.
    let (new, there) = successor(&io);
    let (handover, former) = new.hand(handover(&folder).0, Duration::from_millis(20)).expect("nobody confirms");
    let mut all = Receiver::new(there);
    assert!(all.handover().is_ok() && !former.has_gone());
    let mut predecessor = Predecessor::of(all);
    let refused = predecessor.release().unwrap_err();
    assert!(refused.message.contains("waited for too long"), "{refused}");
    // What it has opened it may still use, until it closes the connection.
    assert!(!former.has_gone());
    drop(predecessor);
    assert!(former.has_gone());
    drop(handover);
    // It serves, and its confirmation is there when the server gives up.
    let (new, mut there) = successor(&io);
    there.write_all(CONFIRMATION.as_bytes()).unwrap();
    there.shutdown(std::net::Shutdown::Read).unwrap();
    assert!(new.hand(self::handover(&folder).0, long).is_none());
    std::fs::remove_file(folder.path().join("socket")).unwrap();
    // The one that serves has died since: nobody else serves.
    let (here, there) = UnixStream::pair().unwrap();
    drop(here);
    assert_eq!(Predecessor::of(Receiver::new(there)).release(), Ok(()));
}

#[test]
fn a_server_that_dies_while_it_hands_over_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    assert!(take_over(&path, &["a"]).is_err_and(|error| error.is_unserved));
    let listener = UnixListener::bind(&path).unwrap();
    let dies = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = [0; 51];
        stream.read_exact(&mut line).unwrap();
        stream.write_all(b"{\"listener\":").unwrap();
        String::from_utf8(line.to_vec()).unwrap()
    });
    let error = take_over(&path, &["a"]).unwrap_err();
    assert!(error.message.starts_with("the server does not hand over: "), "{error}");
    assert_eq!(dies.join().unwrap(), "{\"command\":\"take-over\",\"layout\":1,\"exports\":[\"a\"]}\n".to_string());
}
