use super::*;

fn open(settings: ServerSettings) -> Connection {
    let mut connection = Connection::with(settings);
    connection.receive("00000003 'IHAVEOPT' 00000001 00000000");
    connection.events.clear();
    connection.take_sent();
    connection
}

fn read(length: u32) -> Vec<u8> {
    message(&format!("25609513 0000 0000 00000000000000aa 0000000000000000 {length:08x}"))
}

#[test]
fn requests_beyond_the_limit_wait_for_replies() {
    let mut connection = open(ServerSettings { requests_max: 2, ..ServerSettings::default() });
    let three = [read(512), read(512), read(512)].concat();
    assert_eq!(connection.receive_bytes(&three), three.len());
    assert_eq!(connection.events.len(), 2);
    assert!(connection.session.space().is_none());
    let Some(ServerEvent::Request(Request { id, .. })) = connection.events.pop() else { panic!("no request") };
    connection.session.reply(id, Outcome::Done, Some(vec![0; 512]));
    connection.send(527);
    assert!(connection.session.next_event(&mut Fresh).is_none(), "a reply that is not sent whole counts");
    connection.run();
    assert_eq!((connection.events.len(), connection.session.under_way()), (2, 2));
}

/// Refused requests need no work of the embedder, but their replies have to be sent.
#[test]
fn refused_requests_count_until_their_replies_are_sent() {
    let settings = ServerSettings { requests_max: 2, ..ServerSettings::default() };
    let mut session = open(settings).session;
    let many = read(0).repeat(100);
    session.space().unwrap()[..many.len()].copy_from_slice(&many);
    session.received(many.len());
    assert!(session.next_event(&mut Fresh).is_none());
    assert_eq!(session.under_way(), 2);
    let mut slices = [IoSlice::new(&[]); 4];
    let count = session.gather(&mut slices);
    assert_eq!((count, slices[0].len()), (1, 32), "headers that follow each other are one slice");
}

#[test]
fn bytes_beyond_the_limit_wait_unless_nothing_else_is_under_way() {
    let mut connection = open(ServerSettings { bytes_max: Bytes::kib(32), ..ServerSettings::default() });
    connection.receive_bytes(&read(1 << 16));
    let (long, ..) = connection.request();
    connection.receive_bytes(&[read(512), read(512)].concat());
    assert!(connection.events.is_empty() && connection.session.space().is_none());
    connection.reply(long, Outcome::Failed(ErrorNumber::Io), None);
    assert_eq!(connection.events.len(), 2);
    connection.receive_bytes(&read(1 << 15));
    assert_eq!(connection.events.len(), 2);
}

#[test]
fn a_long_write_goes_straight_into_its_payload() {
    let mut connection = open(ServerSettings::default());
    let write = message("25609513 0000 0001 00000000000000aa 0000000000000000 00010000");
    connection.receive_bytes(&write);
    connection.receive_bytes(&[1; 100]);
    assert_eq!(connection.session.space().unwrap().len(), 65536 - 100, "just the rest of the payload");
    connection.receive_bytes(&[2; 60000]);
    // What is left comes with other messages.
    assert_eq!(connection.session.space().unwrap().len(), 65536);
    connection.receive_bytes(&[&[3; 5436][..], &read(512)].concat());
    assert_eq!(connection.events.len(), 2);
    let Some(ServerEvent::Request(Request { payload: Some(payload), .. })) = connection.events.first() else {
        panic!("no payload")
    };
    assert_eq!(payload, &[[1; 100].to_vec(), [2; 60000].to_vec(), [3; 5436].to_vec()].concat());
}

/// The document: a payload of up to 32 MiB is no reason to end a connection.
#[test]
fn a_write_that_is_too_long_is_dropped_or_ends_the_session() {
    let mut connection = open(ServerSettings::default());
    connection.receive("25609513 0000 0001 00000000000000aa 0000000000000000 02000000");
    connection.expect("67446698 00000016 00000000000000aa");
    for _ in 0..32 << 10 {
        assert_eq!(connection.receive_bytes(&[7; 1024]), 1024);
    }
    connection.receive_bytes(&read(512));
    assert!(matches!(connection.request(), (_, Command::Read { .. }, None)));
    let mut connection = open(ServerSettings::default());
    connection.receive("25609513 0000 0001 00000000000000aa 0000000000000000 02000001");
    assert_eq!(connection.failure(), ServerError::WriteLength((1 << 25) + 1));
}

#[test]
fn long_options_are_dropped_and_too_many_end_the_session() {
    let mut connection = Connection::greeted("00000003");
    connection.receive(&format!("'IHAVEOPT' 00000006 00004001 0*{}", 0x4001));
    connection.expect("0003e889045565a9 00000006 80000009 00000016 'the' 20 'option' 20 'is' 20 'too' 20 'long'");
    connection.receive(&format!("'IHAVEOPT' 00000063 00004000 0*{}", 0x4000));
    assert_eq!(connection.take_sent()[8..16], message("00000063 80000001"));
    for _ in 0..1022 {
        connection.receive("'IHAVEOPT' 00000008 00000000");
        assert_eq!(connection.take_sent().len(), 20);
    }
    connection.receive("'IHAVEOPT' 00000008 00000000");
    assert_eq!(connection.failure(), ServerError::Options(1024));
}
