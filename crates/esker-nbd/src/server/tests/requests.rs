use super::*;

/// Read `disk` from 4,096 on, and others: flags, type, cookie, offset, length.
const READ: &str = "25609513 0000 0000 00000000000000aa 0000000000001000 00000200";

#[test]
fn a_read_is_answered_with_its_bytes() {
    let mut connection = Connection::open(false);
    connection.receive(READ);
    let (id, command, payload) = connection.request();
    assert_eq!(command, Command::Read { offset: 4096, length: 512, in_one_piece: false });
    assert_eq!(payload, None);
    assert_eq!(connection.session.under_way(), 1);
    connection.reply(id, Outcome::Done, Some([b'a'; 512].to_vec()));
    connection.expect(&format!("67446698 00000000 00000000000000aa '{}'", "a".repeat(512)));
    assert_eq!((connection.session.under_way(), connection.recycled.len()), (0, 1));
}

#[test]
fn holes_of_a_simple_reply_are_zeroes() {
    let mut connection = Connection::open(false);
    connection.receive(READ);
    let (id, ..) = connection.request();
    let runs = [Run::Hole(10), Run::Data(2), Run::Hole(490), Run::Data(3), Run::Hole(7)];
    connection.reply(id, Outcome::Runs(&runs), Some(b"abcde".to_vec()));
    connection.expect("67446698 00000000 00000000000000aa 0*10 'ab' 0*490 'cde' 0*7");
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Runs(&[Run::Hole(512)]), None);
    connection.expect("67446698 00000000 00000000000000aa 0*512");
}

#[test]
fn a_write_brings_its_payload() {
    let mut connection = Connection::open(false);
    let payload = "b".repeat(512);
    connection.receive(&format!("25609513 0001 0001 0123456789abcdef 00000000000ffe00 00000200 '{payload}'"));
    let (id, command, received) = connection.request();
    assert_eq!(command, Command::Write { offset: 0xffe00, length: 512, durable: true });
    assert_eq!(received, Some(payload.into_bytes()));
    connection.reply(id, Outcome::Done, None);
    connection.expect("67446698 00000000 0123456789abcdef");
}

#[test]
fn every_command_arrives_with_its_flags() {
    for (header, expected) in [
        ("0001 0003 0000000000000000 00000000", Command::Flush),
        ("0000 0004 0000000000000200 00000400", Command::Trim { offset: 512, length: 1024, durable: false }),
        ("0001 0004 0000000000000200 00100000", Command::Flush),
        ("0001 0005 0000000000000200 00000400", Command::Cache { offset: 512, length: 1024 }),
        (
            "0013 0006 0000000000000000 00100000",
            Command::WriteZeroes { offset: 0, length: 1 << 20, durable: true, no_hole: true, only_if_fast: true },
        ),
        (
            "0000 0006 0000000000000000 00000200",
            Command::WriteZeroes { offset: 0, length: 512, durable: false, no_hole: false, only_if_fast: false },
        ),
        ("0001 0000 0000000000000000 00000200", Command::Read { offset: 0, length: 512, in_one_piece: false }),
    ] {
        let mut connection = Connection::open(false);
        let (kind, range) = header.split_at(9);
        connection.receive(&format!("25609513 {kind} 0000000000000001 {range}"));
        if header.ends_with("0200 00100000") {
            // Half a MiB beyond the end.
            connection.expect("67446698 00000016 0000000000000001");
            continue;
        }
        let (id, command, _) = connection.request();
        assert_eq!(command, expected);
        let data = matches!(command, Command::Read { .. }).then(|| vec![0; 512]);
        connection.reply(id, Outcome::Done, data);
        assert_eq!(&connection.take_sent()[..16], message("67446698 00000000 0000000000000001"));
    }
}

/// What a request with this header is refused with, by a session with simple replies, which has to understand the
/// next request.
#[track_caller]
fn refused(export: &str, header: &str, payload: usize) -> u32 {
    let mut connection = Connection::greeted("00000003");
    connection.receive(&format!("'IHAVEOPT' 00000001 {:08x} '{export}'", export.len()));
    connection.events.clear();
    connection.take_sent();
    let (kind, range) = header.split_at(9);
    connection.receive(&format!("25609513 {kind} 00000000000000cc {range} 0*{payload}"));
    assert!(connection.events.is_empty(), "{:?}", connection.events);
    let sent = connection.take_sent();
    assert_eq!((sent.len(), &sent[..4], &sent[8..]), (16, &message("67446698")[..], &message("00000000000000cc")[..]));
    connection.receive("25609513 0000 0003 00000000000000dd 0000000000000000 00000000");
    assert!(matches!(connection.request(), (_, Command::Flush, None)));
    u32::from_be_bytes(sent[4..8].try_into().unwrap())
}

#[test]
fn requests_outside_of_the_export_are_refused() {
    // Reads, trims, caches: EINVAL. Writes and zeroes: ENOSPC.
    assert_eq!(refused("disk", "0000 0000 00000000000ffe00 00000400", 0), 22);
    assert_eq!(refused("disk", "0000 0004 0000000000000200 00100000", 0), 22);
    assert_eq!(refused("disk", "0000 0005 0000000000100000 00000200", 0), 22);
    assert_eq!(refused("disk", "0000 0001 00000000000ffe00 00000400", 0x400), 28);
    assert_eq!(refused("disk", "0000 0006 0000000000000200 00100000", 0), 28);
    // The end would overflow.
    assert_eq!(refused("disk", "0000 0001 fffffffffffffe00 00000400", 0x400), 28);
    assert_eq!(refused("disk", "0000 0000 fffffffffffffe00 00000200", 0), 22);
}

#[test]
fn misaligned_empty_and_too_long_requests_are_invalid() {
    for kind in ["0000", "0004", "0005", "0006"] {
        for range in ["0000000000000001 00000200", "0000000000000000 000001ff", "0000000000000200 00000000"] {
            assert_eq!(refused("disk", &format!("0000 {kind} {range}"), 0), 22, "{kind} {range}");
        }
    }
    assert_eq!(refused("disk", "0000 0001 0000000000000001 00000200", 0x200), 22);
    assert_eq!(refused("disk", "0000 0001 0000000000000000 000001ff", 0x1ff), 22);
    assert_eq!(refused("disk", "0000 0001 0000000000000000 00000000", 0), 22);
    // The most that `disk` takes is 64 KiB; with simple replies, also of a read.
    assert_eq!(refused("disk", "0000 0000 0000000000000000 00010200", 0), 22);
    assert_eq!(refused("disk", "0000 0001 0000000000000000 00010200", 0x10200), 22);
    // A flush has no range.
    assert_eq!(refused("disk", "0000 0003 0000000000000200 00000000", 0), 22);
    assert_eq!(refused("disk", "0000 0003 0000000000000000 00000200", 0), 22);
}

#[test]
fn unknown_commands_and_flags_are_invalid() {
    // RESIZE, and one that nobody has thought of.
    for kind in ["0008", "0009", "ffff"] {
        assert_eq!(refused("disk", &format!("0000 {kind} 0000000000000000 00000200"), 0), 22);
    }
    // Without structured replies there is neither "don't fragment" nor block status.
    assert_eq!(refused("disk", "0004 0000 0000000000000000 00000200", 0), 22);
    assert_eq!(refused("disk", "0000 0007 0000000000000000 00000200", 0), 22);
    for flags in ["0002", "0004", "0008", "0010", "0020", "8000"] {
        for kind in ["0001", "0004", "0005"] {
            let payload = if kind == "0001" { 0x200 } else { 0 };
            assert_eq!(refused("disk", &format!("{flags} {kind} 0000000000000000 00000200"), payload), 22);
        }
    }
    assert_eq!(refused("disk", "0002 0003 0000000000000000 00000000", 0), 22);
    assert_eq!(refused("disk", "0004 0006 0000000000000000 00000200", 0), 22);
    assert_eq!(refused("disk", "0008 0000 0000000000000000 00000200", 0), 22);
}

#[test]
fn a_read_only_export_is_not_changed() {
    assert_eq!(refused("cd", "0000 0001 0000000000000000 00000200", 0x200), 1);
    assert_eq!(refused("cd", "0000 0004 0000000000000000 00000200", 0), 1);
    assert_eq!(refused("cd", "0000 0006 0000000000000000 00000200", 0), 1);
    // Fast zeroes are not offered.
    assert_eq!(refused("cd", "0010 0006 0000000000000000 00000200", 0), 22);
}

#[test]
fn errors_of_the_device_have_their_numbers() {
    for (error, number) in [
        (ErrorNumber::NotPermitted, "00000001"),
        (ErrorNumber::Io, "00000005"),
        (ErrorNumber::NoMemory, "0000000c"),
        (ErrorNumber::Invalid, "00000016"),
        (ErrorNumber::NoSpace, "0000001c"),
        (ErrorNumber::Overflow, "0000004b"),
        (ErrorNumber::NotSupported, "0000005f"),
        (ErrorNumber::ShuttingDown, "0000006c"),
    ] {
        for outcome in [Outcome::Failed(error), Outcome::FailedAt(error, 4096)] {
            let mut connection = Connection::open(false);
            connection.receive(READ);
            let (id, ..) = connection.request();
            let data = connection.session.reply(id, outcome, Some(vec![1]));
            assert_eq!(data, Some(vec![1]), "data that are not sent come back");
            connection.run();
            connection.expect(&format!("67446698 {number} 00000000000000aa"));
        }
    }
}

#[test]
fn replies_go_out_in_the_order_of_the_answers() {
    let mut connection = Connection::open(false);
    connection.receive(&format!("{READ} 25609513 0000 0003 00000000000000bb 0000000000000000 00000000"));
    let ids: Vec<Tag> = connection
        .events
        .drain(..)
        .map(|event| match event {
            ServerEvent::Request(request) => request.id,
            event => panic!("{event:?}"),
        })
        .collect();
    connection.reply(ids[1], Outcome::Done, None);
    connection.expect("67446698 00000000 00000000000000bb");
    connection.reply(ids[0], Outcome::Failed(ErrorNumber::Io), None);
    connection.expect("67446698 00000005 00000000000000aa");
}

#[test]
fn what_is_no_request_ends_the_session_and_replies_are_dropped() {
    let mut connection = Connection::open(false);
    connection.receive(&format!("{READ} {}", READ.replace("25609513", "12560953")));
    let error = connection.events.pop();
    assert!(matches!(&error, Some(ServerEvent::Failed(ServerError::RequestMagic(0x1256_0953)))), "{error:?}");
    let (id, ..) = connection.request();
    assert!(connection.session.is_finished() && connection.session.space().is_none());
    assert_eq!(connection.session.reply(id, Outcome::Done, Some(vec![0; 512])), Some(vec![0; 512]));
    connection.expect("");
}

#[test]
fn a_client_that_leaves_still_gets_its_replies() {
    let mut connection = Connection::open(false);
    connection.receive(&format!("{READ} 25609513 0000 0002 0000000000000000 0000000000000000 00000000"));
    assert!(matches!(connection.events.pop(), Some(ServerEvent::Disconnected)));
    assert!(connection.session.space().is_none() && !connection.session.is_finished());
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Failed(ErrorNumber::Io), None);
    connection.expect("67446698 00000005 00000000000000aa");
    assert!(connection.session.is_finished());
}

#[test]
fn a_shutdown_refuses_what_is_new_and_waits_for_what_is_under_way() {
    let mut connection = Connection::open(false);
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.session.shut_down();
    connection.receive("25609513 0000 0001 00000000000000bb 0000000000000000 00000200 0*512");
    connection.receive("25609513 0000 0003 00000000000000cc 0000000000000000 00000000");
    connection.expect("67446698 0000006c 00000000000000bb 67446698 0000006c 00000000000000cc");
    assert!(!connection.session.is_finished());
    connection.reply(id, Outcome::Done, Some(vec![b'a'; 512]));
    assert!(connection.session.is_finished());
    assert_eq!(connection.take_sent().len(), 16 + 512);
}

#[test]
#[should_panic(expected = "the bytes of a read and those that were asked for")]
fn data_of_another_length_are_a_fault_of_the_embedder() {
    let mut connection = Connection::open(false);
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.session.reply(id, Outcome::Done, Some(vec![0; 511]));
}
