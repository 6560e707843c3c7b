use super::*;

fn ack(option: &str) -> String {
    format!("0003e889045565a9 {option} 00000001 00000000")
}

const GO: &str = "'IHAVEOPT' 00000007 00000010 00000004 'disk' 0003 0001 0002 0003";

#[test]
fn everything_that_is_offered_is_agreed_on_step_by_step() {
    let mut connection = Connection::with(ClientSettings::open("disk"));
    connection.expect("");
    connection.receive(GREETING);
    connection.expect("00000003 'IHAVEOPT' 00000008 00000000");
    connection.receive(&ack("00000008"));
    connection.expect("'IHAVEOPT' 0000000a 0000001f 00000004 'disk' 00000001 0000000f 'base:allocation'");
    connection.receive("0003e889045565a9 0000000a 00000004 00000013 0000002a 'base:allocation'");
    connection.receive(&ack("0000000a"));
    connection.expect(GO);
    connection.receive("0003e889045565a9 00000007 00000003 00000006 0001 'main'");
    connection.receive("0003e889045565a9 00000007 00000003 00000007 0002 'spare'");
    connection.receive("0003e889045565a9 00000007 00000003 00000004 1234 5678");
    connection.receive("0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 059f");
    connection.receive("0003e889045565a9 00000007 00000003 0000000e 0003 00000200 00001000 00010000");
    assert!(connection.session.is_negotiating());
    connection.receive(&ack("00000007"));
    let Some(ClientEvent::Opened(info)) = connection.events.pop() else { panic!("{:?}", connection.events) };
    let sizes = BlockSizes { minimum: 512, preferred: 4096, maximum: 65536 };
    assert_eq!((info.size, info.block_sizes), (Bytes::mib(1), sizes));
    assert_eq!((info.name.as_deref(), info.description.as_deref()), (Some("main"), Some("spare")));
    assert!(info.is_read_only() && info.is_rotational() && info.can_multi_conn());
    assert!(info.structured && info.block_status);
    let trim = Command::Trim { offset: 0, length: 512, durable: false };
    assert!(info.takes(Command::Flush) && !info.takes(trim));
    assert!(info.takes(Command::BlockStatus { offset: 0, length: 512, one_extent: true }));
}

/// Errors of what can be done without: an old server, and one whose policy forbids it.
#[test]
fn what_is_not_offered_is_done_without() {
    for error in ["80000001", "80000002"] {
        let mut connection = Connection::with(ClientSettings::open("disk"));
        connection.receive(GREETING);
        connection.receive(&format!("0003e889045565a9 00000008 {error} 00000000"));
        connection.expect(&format!("00000003 'IHAVEOPT' 00000008 00000000 {GO}"));
    }
    let mut connection = Connection::with(ClientSettings::open("disk"));
    connection.receive(GREETING);
    connection.receive(&ack("00000008"));
    connection.sent.clear();
    connection.receive("0003e889045565a9 0000000a 00000004 00000013 0000002a 'base:allocation'");
    connection.receive("0003e889045565a9 0000000a 80000001 00000000");
    connection.expect(GO);
    connection.receive("0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 0ded");
    connection.receive(&ack("00000007"));
    assert!(matches!(connection.events.pop(), Some(ClientEvent::Opened(info)) if !info.block_status));
}

#[test]
fn an_old_server_is_asked_by_name() {
    for (greeting, zeroes, flags) in [("0003", "", "00000003"), ("0001", "0*124", "00000001")] {
        let mut connection = Connection::with(ClientSettings { structured: false, ..ClientSettings::open("disk") });
        connection.receive(&format!("'NBDMAGIC' 'IHAVEOPT' {greeting}"));
        connection.expect(&format!("{flags} {GO}"));
        connection.receive("0003e889045565a9 00000007 80000001 00000000");
        connection.expect("'IHAVEOPT' 00000001 00000004 'disk'");
        connection.receive(&format!("0000000000100000 0001 {zeroes}"));
        let Some(ClientEvent::Opened(info)) = connection.events.pop() else { panic!("{:?}", connection.events) };
        assert_eq!((info.size, info.block_sizes), (Bytes::mib(1), BlockSizes::default()));
        assert!(!info.takes(Command::Flush));
        let read = Command::Read { offset: 1, length: 2, in_one_piece: false };
        assert_eq!(connection.session.submit(read, 1, Some(vec![0; 2])), Ok(()));
    }
    // One with the handshake of 2011, which has no options.
    let mut connection = Connection::with(ClientSettings::open("disk"));
    connection.receive("'NBDMAGIC' 'IHAVEOPT' 0000");
    connection.expect("00000000 'IHAVEOPT' 00000001 00000004 'disk'");
    for settings in [ClientSettings { tls: TlsWish::Must, ..ClientSettings::open("disk") }, ClientSettings::list()] {
        let mut connection = Connection::with(settings);
        connection.receive("'NBDMAGIC' 'IHAVEOPT' 0000");
        assert!(matches!(connection.failure(), ClientError::NotFixed(_)));
    }
    // One with an even older handshake, and something else.
    for other in ["'NBDMAGIC' 0000420281861253 0000", "'SSH-2.0-' 'OpenSSH_' '9.'"] {
        let mut connection = Connection::with(ClientSettings::open("disk"));
        connection.receive(other);
        assert_eq!(connection.failure(), ClientError::NotNewstyle);
    }
}

#[test]
fn tls_is_started_before_anything_else() {
    for tls in [TlsWish::IfOffered, TlsWish::Must] {
        let settings = ClientSettings { tls, ..ClientSettings::open("disk") };
        let mut connection = Connection::with(settings.clone());
        connection.receive(GREETING);
        connection.expect("00000003 'IHAVEOPT' 00000005 00000000");
        connection.receive(&ack("00000005"));
        assert_eq!(connection.events.pop(), Some(ClientEvent::StartTls));
        assert!(connection.session.space().is_none(), "plain text is taken");
        connection.session.tls_started();
        connection.expect("'IHAVEOPT' 00000008 00000000");

        let mut connection = Connection::with(settings.clone());
        connection.receive(GREETING);
        connection.receive(&format!("{} 00", ack("00000005")));
        assert_eq!(connection.failure(), ClientError::PlainBytes(1));

        let mut connection = Connection::with(settings);
        connection.receive(GREETING);
        connection.sent.clear();
        connection.receive("0003e889045565a9 00000005 80000002 00000000");
        match tls {
            TlsWish::Must => {
                assert_eq!(connection.failure().to_string(), "the server refused TLS: its policy forbids it");
                connection.expect("'IHAVEOPT' 00000002 00000000");
                assert!(connection.session.is_finished());
            }
            _ => connection.expect("'IHAVEOPT' 00000008 00000000"),
        }
    }
}

#[test]
fn a_list_comes_export_by_export() {
    let mut connection = Connection::with(ClientSettings::list());
    connection.receive(GREETING);
    connection.expect("00000003 'IHAVEOPT' 00000003 00000000");
    connection.receive("0003e889045565a9 00000003 00000002 0000000d 00000004 'disk' 'spare'");
    connection.receive("0003e889045565a9 00000003 00000002 00000006 00000002 'cd'");
    connection.receive(&ack("00000003"));
    let listed = |name: &str, description: &str| {
        let (name, description) = (name.to_string(), description.to_string());
        ClientEvent::Listed { name, description }
    };
    assert_eq!(connection.events, [listed("disk", "spare"), listed("cd", ""), ClientEvent::ListEnd]);
    connection.expect("'IHAVEOPT' 00000002 00000000");
    assert!(connection.session.is_finished());
}

#[test]
fn a_refused_export_is_left_in_order() {
    for (error, sentence) in [
        ("80000006 00000008 'no' 20 'disk' 21", "the server refused the export: there is no such export (no disk!)"),
        ("80000007 00000000", "the server refused the export: it is being shut down"),
        ("80000005 00000000", "the server refused the export: TLS is required"),
        ("80000008 00000000", "the server refused the export: it requires that block sizes are asked for"),
        ("8000ffff 00000001 ff", "the server refused the export: an unknown error"),
    ] {
        let mut connection = Connection::with(ClientSettings { structured: false, ..ClientSettings::open("disk") });
        connection.receive(GREETING);
        connection.sent.clear();
        connection.receive(&format!("0003e889045565a9 00000007 {error}"));
        assert_eq!(connection.failure().to_string(), sentence);
        connection.expect("'IHAVEOPT' 00000002 00000000");
        assert!(connection.session.is_finished());
    }
}

#[test]
fn a_server_that_breaks_the_protocol_is_left_at_once() {
    for (reply, sentence) in [
        ("0003e889045565aa 00000007 00000001 00000000", "a reply to an option has another magic number"),
        ("0003e889045565a9 00000008 00000001 00000000", "the reply is to another option"),
        ("0003e889045565a9 00000007 00000001 00004001", "a reply to an option is too long"),
        ("0003e889045565a9 00000007 00000002 00000000", "the reply does not fit the option"),
        ("0003e889045565a9 00000007 00000001 00000000", "the server says neither size nor flags of the export"),
        ("0003e889045565a9 00000007 00000003 00000001 00", "what the server tells of the export is malformed"),
        (
            "0003e889045565a9 00000007 00000003 0000000d 0000 0000000000100000 0001 00",
            "what the server tells of the export is malformed",
        ),
        // A minimum that is no power of two.
        (
            "0003e889045565a9 00000007 00000003 0000000e 0003 00000201 00001000 00010000",
            "what the server tells of the export is malformed",
        ),
        ("0003e889045565a9 00000007 00000003 00000003 0001 ff", "what the server tells of the export is malformed"),
    ] {
        let mut connection = Connection::with(ClientSettings { structured: false, ..ClientSettings::open("disk") });
        connection.receive(GREETING);
        connection.sent.clear();
        connection.receive(reply);
        assert_eq!(connection.failure().to_string(), format!("the server broke the protocol: {sentence}"));
        connection.expect("");
        assert!(connection.session.is_finished());
    }
}

#[test]
fn a_client_that_changes_its_mind_aborts() {
    let mut connection = Connection::with(ClientSettings::open("disk"));
    connection.receive(GREETING);
    connection.sent.clear();
    connection.session.disconnect();
    connection.expect("'IHAVEOPT' 00000002 00000000");
    assert!(connection.session.is_finished());
}
