use super::*;

#[test]
fn the_greeting_offers_the_fixed_newstyle_handshake_without_zeroes() {
    Connection::with(ServerSettings::default()).expect("'NBDMAGIC' 49484156454f5054 0003");
}

/// The reply to the old way of choosing has no magic number, and 124 zeroes unless both sides agreed to leave them out.
#[test]
fn an_export_is_chosen_by_its_name_alone() {
    // Has flags, sends flush, FUA, trim and zeroes, multi-conn, cache, fast zeroes.
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000001 00000004 'disk'");
    connection.expect("0000000000100000 0d6d");
    assert!(matches!(&connection.events[..], [ServerEvent::Opened(export)] if export.name == "disk"));
    assert!(!connection.session.is_negotiating());

    let mut connection = Connection::greeted("00000001");
    connection.receive("'IHAVEOPT' 00000001 00000002 'cd'");
    // Has flags, is read-only, sends flush and FUA, rotates, sends cache.
    connection.expect("0000000000001001 041f 0*124");
    let mut connection = Connection::greeted("00000000");
    connection.receive("'IHAVEOPT' 00000001 00000000");
    connection.expect("0000000000100000 0d6d 0*124");
}

#[test]
fn an_unknown_name_ends_the_session_as_there_is_no_error_reply() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000001 00000003 'dvd'");
    assert_eq!(connection.failure().to_string(), "the client asked for the export \"dvd\", which is unknown");
    connection.expect("");
    assert!(connection.session.is_finished() && connection.session.space().is_none());
    for name in ["00000002 6400", "00000002 ffff", "00010000"] {
        let mut connection = Connection::greeted("00000003");
        connection.receive(&format!("'IHAVEOPT' 00000001 {name}"));
        assert!(matches!(connection.failure(), ServerError::ExportName { why: "is no name", .. }), "{name}");
    }
}

#[test]
fn unknown_client_flags_and_what_is_no_option_end_the_session() {
    assert_eq!(Connection::greeted("00000004").failure(), ServerError::ClientFlags(4));
    let mut connection = Connection::greeted("00000003");
    connection.receive("49484156454f5055 00000003 00000000");
    assert_eq!(connection.failure().to_string(), "the client sent 0x49484156454f5055 instead of an option");
}

#[test]
fn go_tells_of_the_export_and_begins_with_requests() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000007 0000000a 00000004 'disk' 0000");
    connection.expect(
        "0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 0d6d
         0003e889045565a9 00000007 00000003 0000000e 0003 00000200 00001000 00010000
         0003e889045565a9 00000007 00000001 00000000",
    );
    assert!(matches!(&connection.events[..], [ServerEvent::Opened(export)] if export.name == "disk"));
}

/// Each connection is offered the size, the flags and the block sizes of the export that it names, and is held to them.
#[test]
fn each_connection_is_told_of_the_export_that_it_names() {
    let mut disk = Connection::open(false);
    let mut cd = Connection::greeted("00000003");
    // What an unknown name is refused with does not end the session.
    cd.receive("'IHAVEOPT' 00000007 00000009 00000003 'dvd' 0000");
    cd.expect("0003e889045565a9 00000007 80000006 00000015 'the' 20 'export' 20 'is' 20 'unknown'");
    assert!(cd.session.is_negotiating() && cd.session.export().is_none());
    cd.receive("'IHAVEOPT' 00000007 00000008 00000002 'cd' 0000");
    cd.expect(
        "0003e889045565a9 00000007 00000003 0000000c 0000 0000000000001001 041f
         0003e889045565a9 00000007 00000003 0000000e 0003 00000001 00001000 02000000
         0003e889045565a9 00000007 00000001 00000000",
    );
    assert!(matches!(cd.events.pop(), Some(ServerEvent::Opened(export)) if export.name == "cd"));
    let names = [&disk, &cd].map(|connection| connection.session.export().unwrap().name.clone());
    assert_eq!(names, ["disk", "cd"]);
    // 512 bytes behind the end of one, and within the other; and a write.
    let read = "25609513 0000 0000 00000000000000aa 0000000000001200 00000200";
    disk.receive(read);
    assert!(matches!(disk.request(), (_, Command::Read { offset: 0x1200, length: 512, .. }, None)));
    cd.receive(read);
    cd.expect("67446698 00000016 00000000000000aa");
    cd.receive("25609513 0000 0001 00000000000000bb 0000000000000000 00000200 0*512");
    cd.expect("67446698 00000001 00000000000000bb");
}

#[test]
fn info_tells_name_and_description_on_request_and_goes_on() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000008 00000000");
    connection.expect("0003e889045565a9 00000008 00000001 00000000");
    // The default, with its name, its description, its block sizes, and something unknown, some of it twice.
    connection.receive("'IHAVEOPT' 00000006 00000010 00000000 0005 0001 0002 0003 0001 1234");
    connection.expect(
        "0003e889045565a9 00000006 00000003 0000000c 0000 0000000000100000 0ded
         0003e889045565a9 00000006 00000003 00000006 0001 'disk'
         0003e889045565a9 00000006 00000003 00000007 0002 'spare'
         0003e889045565a9 00000006 00000003 0000000e 0003 00000200 00001000 00010000
         0003e889045565a9 00000006 00000001 00000000",
    );
    assert!(connection.events.is_empty() && connection.session.is_negotiating());
    connection.receive("'IHAVEOPT' 00000006 00000009 00000003 'dvd' 0000");
    connection.expect("0003e889045565a9 00000006 80000006 00000015 'the' 20 'export' 20 'is' 20 'unknown'");
}

/// Names that reach beyond the option, or leave something of it over.
#[test]
fn malformed_questions_are_invalid() {
    for data in [
        "00000000",
        "00000003 000000",
        "00000006 00000001 0000",
        "00000008 00000002 'cd' 0001",
        "00000009 00000002 'cd' 0000 00",
        "0000000a 00000002 'cd' 0002 0001",
        "00000008 00000002 6400 0000",
        "00000008 ffffffff 'cd' 0000",
    ] {
        let mut connection = Connection::greeted("00000003");
        connection.receive(&format!("'IHAVEOPT' 00000007 {data}"));
        let reply = connection.take_sent();
        assert_eq!(&reply[..16], message("0003e889045565a9 00000007 80000003"), "{data}");
        assert!(connection.session.is_negotiating());
    }
}

#[test]
fn the_list_has_every_export_with_its_description() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000003 00000000");
    connection.expect(
        "0003e889045565a9 00000003 00000002 0000000d 00000004 'disk' 'spare'
         0003e889045565a9 00000003 00000002 00000006 00000002 'cd'
         0003e889045565a9 00000003 00000001 00000000",
    );
    connection.receive("'IHAVEOPT' 00000003 00000001 00");
    connection.expect("0003e889045565a9 00000003 80000003 00000016 'the' 20 'option' 20 'has' 20 'no' 20 'data'");
}

#[test]
fn structured_replies_are_agreed_on_without_data() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000008 00000002 0000");
    assert_eq!(&connection.take_sent()[8..16], message("00000008 80000003"));
    // Nothing was agreed on: no "don't fragment".
    connection.receive("'IHAVEOPT' 00000001 00000000");
    connection.expect("0000000000100000 0d6d");
}

/// `PEEK_EXPORT`, `EXTENDED_HEADERS`, and one that nobody has thought of, with data.
#[test]
fn unknown_options_are_unsupported_and_the_next_one_is_understood() {
    let mut connection = Connection::greeted("00000003");
    for option in ["00000004", "0000000b", "0000ffff"] {
        connection.receive(&format!("'IHAVEOPT' {option} 00000003 010203"));
        let expected = "80000001 00000015 'the' 20 'option' 20 'is' 20 'unknown'";
        connection.expect(&format!("0003e889045565a9 {option} {expected}"));
    }
    connection.receive("'IHAVEOPT' 00000002 00000000");
    connection.expect("0003e889045565a9 00000002 00000001 00000000");
}

#[test]
fn an_abort_is_acknowledged_whatever_comes_with_it() {
    let mut connection = Connection::greeted("00000003");
    connection.receive("'IHAVEOPT' 00000002 00000003 010203");
    connection.expect("0003e889045565a9 00000002 00000001 00000000");
    assert!(matches!(connection.events[..], [ServerEvent::Disconnected]));
    assert!(connection.session.is_finished());
}

#[test]
fn options_are_answered_one_by_one_as_replies_are_sent() {
    let mut session = ServerSession::<Vec<u8>, Vec<u8>>::new(ServerSettings::default(), exports());
    let options = message("00000003 'IHAVEOPT' 00000008 00000000 'IHAVEOPT' 00000003 00000000");
    session.space().unwrap()[..options.len()].copy_from_slice(&options);
    session.received(options.len());
    let mut sent = Vec::new();
    for expected in [18, 20, 33 + 26 + 20] {
        assert!(session.next_event(&mut Fresh).is_none());
        let mut slices = [IoSlice::new(&[]); 4];
        let count = session.gather(&mut slices);
        let bytes: usize = slices[..count].iter().map(|slice| slice.len()).sum();
        session.sent(bytes, |_| {});
        sent.push(bytes);
        assert_eq!(sent.last(), Some(&expected));
    }
}

#[test]
fn a_server_that_is_shut_down_refuses_options_but_an_abort() {
    let mut connection = Connection::greeted("00000003");
    connection.session.shut_down();
    connection.receive("'IHAVEOPT' 00000003 00000000");
    assert_eq!(&connection.take_sent()[8..16], message("00000003 80000007"));
    connection.receive("'IHAVEOPT' 00000002 00000000");
    connection.expect("0003e889045565a9 00000002 00000001 00000000");
    let mut connection = Connection::greeted("00000003");
    connection.session.shut_down();
    connection.receive("'IHAVEOPT' 00000001 00000000");
    assert!(matches!(connection.failure(), ServerError::ExportName { why: "is being shut down", .. }));
}
