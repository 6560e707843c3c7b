use super::*;

const READ: Command = Command::Read { offset: 4096, length: 512, in_one_piece: false };
const STATUS: Command = Command::BlockStatus { offset: 4096, length: 512, one_extent: false };

#[test]
fn every_command_is_sent_as_the_document_says() {
    let mut connection = Connection::open(true);
    for (command, expected) in [
        (Command::Read { offset: 512, length: 1024, in_one_piece: true }, "0004 0000 COOKIE 0000000000000200 00000400"),
        (Command::Flush, "0000 0003 COOKIE 0000000000000000 00000000"),
        (Command::Trim { offset: 0, length: 512, durable: true }, "0001 0004 COOKIE 0000000000000000 00000200"),
        (Command::Cache { offset: 0, length: 512 }, "0000 0005 COOKIE 0000000000000000 00000200"),
        (
            Command::WriteZeroes { offset: 0, length: 512, durable: false, no_hole: true, only_if_fast: true },
            "0012 0006 COOKIE 0000000000000000 00000200",
        ),
        (
            Command::BlockStatus { one_extent: true, offset: 0, length: 512 },
            "0008 0007 COOKIE 0000000000000000 00000200",
        ),
    ] {
        let buffer = matches!(command, Command::Read { .. }).then(|| vec![0; 1024]);
        connection.session.submit(command, 7, buffer).unwrap();
        connection.send(usize::MAX);
        let cookie: String = connection.sent[8..16].iter().map(|byte| format!("{byte:02x}")).collect();
        connection.expect(&format!("25609513 {}", expected.replace("COOKIE", &cookie)));
    }
    let write = Command::Write { offset: 512, length: 512, durable: true };
    connection.session.submit(write, 7, Some(vec![b'w'; 512])).unwrap();
    connection.send(usize::MAX);
    let sent = std::mem::take(&mut connection.sent);
    assert_eq!(
        (&sent[..8], &sent[16..28]),
        (&message("25609513 0001 0001")[..], &message("0000000000000200 00000200")[..])
    );
    assert_eq!(sent[28..], [b'w'; 512]);
}

#[test]
fn a_simple_reply_fills_the_buffer() {
    let mut connection = Connection::open(false);
    let cookie = connection.submit(READ, Some(vec![0xee; 512]));
    connection.receive(&format!("67446698 00000000 {cookie} '{}'", "a".repeat(512)));
    let done = connection.done();
    assert_eq!((done.id, done.result, done.buffer), (7, Ok(()), Some(vec![b'a'; 512])));
    let cookie = connection.submit(READ, Some(vec![0xee; 512]));
    connection.receive(&format!("67446698 00000005 {cookie}"));
    assert_eq!(connection.done().result, Err(ErrorNumber::Io));
    assert_eq!(connection.session.under_way(), 0);
}

#[test]
fn pieces_come_in_any_order_and_holes_are_zeroes() {
    let mut connection = Connection::open(true);
    let (first, second) = (connection.submit(READ, Some(vec![0xee; 512])), connection.submit(Command::Flush, None));
    connection.receive(&format!("668e33ef 0000 0001 {first} 00000010 00000000000011f8 'abcdefgh'"));
    connection.receive(&format!("668e33ef 0000 0002 {first} 0000000c 0000000000001000 000001f0"));
    // Others may come in between, and flags that nobody knows.
    connection.receive(&format!("668e33ef 0003 0000 {second} 00000000"));
    assert_eq!(connection.done().result, Ok(()));
    connection.receive(&format!("668e33ef 0000 0001 {first} 00000010 00000000000011f0 '01234567'"));
    assert!(connection.events.is_empty());
    connection.receive(&format!("668e33ef 0001 0000 {first} 00000000"));
    let done = connection.done();
    assert_eq!(done.buffer, Some(message("0*496 '01234567' 'abcdefgh'")));
    assert_eq!(done.result, Ok(()));
}

#[test]
fn errors_among_pieces_fail_the_read_at_its_end() {
    let mut connection = Connection::open(true);
    let cookie = connection.submit(READ, Some(vec![0; 512]));
    connection.receive(&format!("668e33ef 0000 8002 {cookie} 00000011 0000001c 0003 'bad' 0000000000001100"));
    connection.receive(&format!("668e33ef 0000 0001 {cookie} 00000010 0000000000001000 'abcdefgh'"));
    assert!(connection.events.is_empty());
    connection.receive(&format!("668e33ef 0001 8001 {cookie} 00000006 00000005 0000"));
    assert_eq!(connection.done().result, Err(ErrorNumber::NoSpace), "the first error");
    // An error of a type and with a number that nobody knows.
    let cookie = connection.submit(READ, Some(vec![0; 512]));
    connection.receive(&format!("668e33ef 0001 80ff {cookie} 00000008 00001234 0000 0000"));
    assert_eq!(connection.done().result, Err(ErrorNumber::Invalid));
}

#[test]
fn a_reply_of_nothing_but_errors_ends() {
    for (command, most) in [(READ, 2), (Command::Flush, 1)] {
        let mut connection = Connection::open(true);
        let cookie = connection.submit(command, (command == READ).then(|| vec![0; 512]));
        let error = format!("668e33ef 0000 8001 {cookie} 00000006 00000005 0000");
        for _ in 0..most {
            connection.receive(&error);
            assert!(connection.events.is_empty());
        }
        connection.receive(&error);
        let failure = connection.failure().to_string();
        assert!(failure.ends_with("it has more errors than its request has sectors"), "{failure}");
    }
}

#[test]
fn extents_are_listed() {
    let mut connection = Connection::open(true);
    let cookie = connection.submit(STATUS, None);
    let extents = "00000100 00000000 00001000 fffffff3";
    connection.receive(&format!("668e33ef 0001 0005 {cookie} 00000014 0000002a {extents}"));
    let done = connection.done();
    let extent = |length, is_hole, is_zero| Extent { length, is_hole, is_zero };
    assert_eq!((done.result, done.extents), (Ok(()), vec![extent(256, false, false), extent(4096, true, true)]));
    let cookie = connection.submit(STATUS, None);
    connection.receive(&format!("67446698 00000016 {cookie}"));
    assert_eq!(connection.done().result, Err(ErrorNumber::Invalid));
}

/// Faulty replies to a read, and the sentence of the error.
const FAULTY_READS: &[(&str, &str)] = &[
    ("67446699 00000000 COOKIE", "it has another magic number"),
    ("67446698 00000000 00000000ffffffff", "no request has its cookie"),
    ("668e33ef 0001 0000 0000ffff00000000 00000000", "no request has its cookie"),
    ("67446698 00000000 COOKIE", "a read is answered by a simple one"),
    ("67446698 00000016 COOKIE", "a read is answered by a simple one"),
    ("668e33ef 0000 0000 COOKIE 00000000", "a chunk has a length that its type does not allow"),
    ("668e33ef 0001 0000 COOKIE 00000001 00", "a chunk has a length that its type does not allow"),
    ("668e33ef 0001 0001 COOKIE 00000008", "a chunk has a length that its type does not allow"),
    ("668e33ef 0001 0002 COOKIE 0000000d", "a chunk has a length that its type does not allow"),
    ("668e33ef 0001 0003 COOKIE 00000000", "a chunk has an unknown type"),
    ("668e33ef 0001 0000 COOKIE 00000000", "bytes of a read are missing"),
    ("668e33ef 0001 0001 COOKIE 00000009 0000000000001000 61", "bytes of a read are missing"),
    ("668e33ef 0001 0001 COOKIE 00000009 0000000000000fff 61", "a piece is outside of its read"),
    ("668e33ef 0001 0001 COOKIE 0000000a 00000000000011ff", "a piece is empty, or outside of its read"),
    ("668e33ef 0001 0001 COOKIE ffffffff 0000000000001200", "a piece is outside of its read"),
    ("668e33ef 0001 0002 COOKIE 0000000c 0000000000001000 00000000", "a piece is empty, or outside of its read"),
    ("668e33ef 0001 0002 COOKIE 0000000c 0000000000001001 ffffffff", "a piece is outside of its read"),
    (
        "668e33ef 0000 0002 COOKIE 0000000c 0000000000001000 00000100
             668e33ef 0000 0002 COOKIE 0000000c 00000000000010ff 00000001",
        "pieces of a read overlap",
    ),
    (
        "668e33ef 0000 0002 COOKIE 0000000c 0000000000001000 00000100 67446698 00000016 COOKIE",
        "it is simple, but began as a structured one",
    ),
    ("668e33ef 0001 0005 COOKIE 0000000c 0000002a 00000200 00000000", "a chunk does not fit the command"),
    ("668e33ef 0001 8001 COOKIE 00000005", "an error is too short or too long"),
    ("668e33ef 0001 8001 COOKIE 00010000", "an error is too short or too long"),
    ("668e33ef 0001 8001 COOKIE 00000006 00000005 0001", "the message of an error is longer than the error"),
    ("668e33ef 0001 8001 COOKIE 00000006 00000000 0000", "an error has the number zero"),
    ("668e33ef 0001 8002 COOKIE 0000000e 00000005 0000 0000000000001200", "an error is outside of its request"),
    ("668e33ef 0001 8002 COOKIE 00000006 00000005 0000", "an error is outside of its request"),
];

/// Faulty replies to a read that has to come in one piece.
const FAULTY_PIECES: &[(&str, &str)] = &[(
    "668e33ef 0000 0002 COOKIE 0000000c 0000000000001000 00000100
             668e33ef 0000 0002 COOKIE 0000000c 0000000000001100 00000100",
    "a read comes in pieces that was to come in one",
)];

/// Faulty replies to a block status.
const FAULTY_STATUSES: &[(&str, &str)] = &[
    ("668e33ef 0001 0001 COOKIE 00000009 0000000000001000 61", "a chunk does not fit the command"),
    ("668e33ef 0001 0000 COOKIE 00000000", "a block status comes without extents"),
    ("67446698 00000000 COOKIE", "a block status comes without extents"),
    ("668e33ef 0001 0005 COOKIE 00000004 0000002a", "a chunk has a length that its type does not allow"),
    ("668e33ef 0001 0005 COOKIE 0000000c 0000002b", "extents are of another metadata context"),
    (
        "668e33ef 0001 0005 COOKIE 0000000c 0000002a 00000000 00000000",
        "an extent is empty, or beyond what was asked for",
    ),
    (
        "668e33ef 0001 0005 COOKIE 00000014 0000002a 00000200 00000000 00000001 00000000",
        "an extent is empty, or beyond what was asked for",
    ),
    (
        "668e33ef 0000 0005 COOKIE 0000000c 0000002a 00000200 00000000
             668e33ef 0000 0005 COOKIE 0000000c 0000002a 00000200 00000000",
        "there are more extents than were asked for",
    ),
];

/// Faulty replies to a block status that has to have one extent.
const FAULTY_EXTENTS: &[(&str, &str)] = &[
    ("668e33ef 0001 0005 COOKIE 00000014 0000002a", "there are more extents than were asked for"),
    (
        "668e33ef 0001 0005 COOKIE 0000000c 0000002a 00000201 00000000",
        "an extent is empty, or beyond what was asked for",
    ),
];

#[track_caller]
fn each_ends_the_session(command: Command, replies: &[(&str, &str)]) {
    for (reply, sentence) in replies {
        let mut connection = Connection::open(true);
        let buffer = matches!(command, Command::Read { .. }).then(|| vec![0; 512]);
        let cookie = connection.submit(command, buffer);
        connection.receive(&reply.replace("COOKIE", &cookie));
        let expected = format!("the server broke the protocol in a reply: {sentence}");
        assert_eq!(connection.failure().to_string(), expected, "{reply}");
        assert!(connection.session.is_finished() && connection.session.space().is_none());
        assert!(connection.session.submit(Command::Flush, 1, None).is_err());
    }
}

#[test]
fn faulty_replies_end_the_session_with_a_sentence() {
    each_ends_the_session(READ, FAULTY_READS);
    each_ends_the_session(STATUS, FAULTY_STATUSES);
    each_ends_the_session(Command::Read { offset: 4096, length: 512, in_one_piece: true }, FAULTY_PIECES);
    each_ends_the_session(Command::BlockStatus { offset: 4096, length: 512, one_extent: true }, FAULTY_EXTENTS);
}

#[test]
fn a_structured_reply_has_to_be_agreed_on() {
    let mut connection = Connection::open(false);
    let cookie = connection.submit(READ, Some(vec![0; 512]));
    connection.receive(&format!("668e33ef 0001 0000 {cookie} 00000000"));
    assert!(connection.failure().to_string().ends_with("it is structured, which was not agreed on"));
    let abandoned: Vec<(u32, Option<Vec<u8>>)> = connection.session.abandon().collect();
    assert_eq!((abandoned, connection.session.under_way()), (vec![(7, Some(vec![0; 512]))], 0));
}

#[test]
fn a_reply_comes_once() {
    let mut connection = Connection::open(true);
    let cookie = connection.submit(Command::Flush, None);
    connection.receive(&format!("67446698 00000000 {cookie}"));
    assert_eq!(connection.done().result, Ok(()));
    let again = connection.submit(Command::Flush, None);
    assert_ne!(cookie, again, "the cookie of an earlier request is not that of the next one");
    connection.receive(&format!("67446698 00000000 {cookie}"));
    assert!(connection.failure().to_string().ends_with("no request has its cookie"));
}

/// A server may refuse a write before it has received all of it.
#[test]
fn a_write_that_is_answered_early_ends_when_it_is_sent() {
    let mut connection = Connection::open(true);
    let write = Command::Write { offset: 0, length: 512, durable: false };
    connection.session.submit(write, 7, Some(vec![1; 512])).unwrap();
    connection.send(100);
    let cookie: String = connection.sent[8..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let reply = message(&format!("67446698 0000001c {cookie}"));
    connection.session.space().unwrap()[..16].copy_from_slice(&reply);
    connection.session.received(16);
    assert_eq!(connection.session.next_event(), None);
    connection.send(439);
    assert!(connection.events.is_empty());
    connection.send(1);
    let done = connection.done();
    assert_eq!((done.result, done.buffer), (Err(ErrorNumber::NoSpace), Some(vec![1; 512])));
}

#[test]
fn what_the_server_would_refuse_is_not_sent() {
    let mut connection = Connection::open(false);
    let buffer = || Some(vec![0; 512]);
    for (command, buffer, why) in [
        (
            Command::Read { offset: 1 << 20, length: 512, in_one_piece: false },
            buffer(),
            "the range ends beyond the export",
        ),
        (Command::Read { offset: 0, length: 512, in_one_piece: true }, buffer(), "does not have one of these flags"),
        (STATUS, None, "no metadata context was agreed on"),
        (READ, None, "the buffer does not fit the command"),
        (READ, Some(vec![0; 511]), "the buffer does not fit the command"),
        (Command::Flush, buffer(), "the buffer does not fit the command"),
    ] {
        let rejected = connection.session.submit(command, 1, buffer.clone()).unwrap_err();
        assert_eq!(rejected.buffer, buffer);
        assert!(rejected.why.to_string().contains(why), "{}", rejected.why);
    }
    connection.expect("");
    let settings = ClientSettings { requests_max: 1, structured: false, ..ClientSettings::open("disk") };
    let mut connection = Connection::with(settings);
    assert_eq!(connection.session.submit(Command::Flush, 1, None).unwrap_err().why, SubmitError::Closed);
    connection.receive(GREETING);
    connection.receive("0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 000d");
    connection.receive("0003e889045565a9 00000007 00000001 00000000");
    connection.session.submit(Command::Flush, 1, None).unwrap();
    assert_eq!(connection.session.submit(Command::Flush, 1, None).unwrap_err().why, SubmitError::TooMany);
}

#[test]
fn a_server_that_is_shut_down_is_left_when_nothing_is_under_way() {
    let leave = "25609513 0000 0002 0000000000000000 0000000000000000 00000000";
    let mut connection = Connection::open(false);
    let (first, second) = (connection.submit(Command::Flush, None), connection.submit(Command::Flush, None));
    connection.receive(&format!("67446698 0000006c {first}"));
    assert_eq!(connection.done().result, Err(ErrorNumber::ShuttingDown));
    assert_eq!(connection.session.submit(Command::Flush, 1, None).unwrap_err().why, SubmitError::Closed);
    connection.expect("");
    connection.receive(&format!("67446698 00000000 {second}"));
    assert_eq!(connection.done().result, Ok(()));
    connection.expect(leave);
    assert!(connection.session.is_finished());
    let mut connection = Connection::open(false);
    connection.session.disconnect();
    connection.expect(leave);
}
