use super::*;

fn greeted(tls: TlsPolicy) -> Connection {
    let mut connection = Connection::with(ServerSettings { tls, ..ServerSettings::default() });
    connection.receive("00000003");
    connection.take_sent();
    connection
}

const START: &str = "'IHAVEOPT' 00000005 00000000";

#[test]
fn without_tls_its_start_is_refused_and_nothing_else() {
    let mut connection = greeted(TlsPolicy::None);
    connection.receive(START);
    connection.expect("0003e889045565a9 00000005 80000002 00000016 'this' 20 'server' 20 'has' 20 'no' 20 'TLS'");
    connection.receive("'IHAVEOPT' 00000008 00000000");
    connection.expect("0003e889045565a9 00000008 00000001 00000000");
}

#[test]
fn where_tls_is_required_all_but_its_start_is_refused() {
    let mut connection = greeted(TlsPolicy::Required);
    // Those with an empty body, one that is unknown, one that is too long.
    for (option, data) in [
        ("00000003", "00000000"),
        ("00000006", "00000000"),
        ("00000007", "00000006 00000000 0000"),
        ("00000008", "00000000"),
        ("00000009", "00000000"),
        ("0000000a", "00000000"),
        ("0000000b", "00000000"),
        ("00000007", &format!("00010000 0*{}", 0x10000)),
    ] {
        connection.receive(&format!("'IHAVEOPT' {option} {data}"));
        assert_eq!(&connection.take_sent()[8..16], message(&format!("{option} 80000005")));
    }
    connection.receive("'IHAVEOPT' 00000002 00000000");
    connection.expect("0003e889045565a9 00000002 00000001 00000000");
    let mut connection = greeted(TlsPolicy::Required);
    connection.receive("'IHAVEOPT' 00000001 00000000");
    assert!(matches!(connection.failure(), ServerError::ExportName { why: "needs TLS", .. }));
    let mut connection = Connection::with(ServerSettings { tls: TlsPolicy::Required, ..ServerSettings::default() });
    connection.receive("00000000");
    assert_eq!(connection.failure(), ServerError::NotFixed);
}

#[test]
fn what_was_agreed_on_in_plain_text_is_forgotten() {
    for policy in [TlsPolicy::Offered, TlsPolicy::Required] {
        let mut connection = greeted(policy);
        connection.receive("'IHAVEOPT' 00000008 00000000");
        connection.receive("'IHAVEOPT' 0000000a 0000001b 00000000 00000001 0000000f 'base:allocation'");
        connection.take_sent();
        connection.receive(START);
        connection.expect("0003e889045565a9 00000005 00000001 00000000");
        assert!(matches!(connection.events.pop(), Some(ServerEvent::StartTls)));
        assert!(connection.session.space().is_none(), "plain text is taken");
        connection.session.tls_started();
        connection.receive(START);
        assert_eq!(&connection.take_sent()[8..16], message("00000005 80000003"), "only once");
        connection.receive("'IHAVEOPT' 00000007 0000000a 00000004 'disk' 0000");
        assert_eq!(connection.take_sent()[20..32], message("0000 0000000000100000 0d6d"), "no structured replies");
        assert!(matches!(connection.events.pop(), Some(ServerEvent::Opened(_))));
        connection.receive("25609513 0000 0007 0000000000000001 0000000000000000 00001000");
        connection.expect("67446698 00000016 0000000000000001");
        assert_eq!(connection.session.state(), Err(NotIdle::Encrypted));
    }
}

#[test]
fn bytes_behind_the_start_of_tls_may_be_injected() {
    let mut connection = greeted(TlsPolicy::Offered);
    connection.receive(&format!("{START} 'IHAVEOPT'"));
    assert_eq!(connection.failure().to_string(), "8 bytes came in plain text behind the request for TLS");
    connection.expect("");
}

/// The event comes only when the acknowledgement is sent: what the embedder sends next is TLS.
#[test]
fn the_acknowledgement_is_sent_before_tls_starts() {
    let mut connection = greeted(TlsPolicy::Offered);
    let start = message(START);
    connection.session.space().unwrap()[..start.len()].copy_from_slice(&start);
    connection.session.received(start.len());
    assert!(connection.session.next_event(&mut Fresh).is_none());
    connection.send(19);
    assert!(connection.session.next_event(&mut Fresh).is_none());
    assert!(connection.session.space().is_none());
    connection.send(1);
    assert!(matches!(connection.session.next_event(&mut Fresh), Some(ServerEvent::StartTls)));
    assert!(connection.session.next_event(&mut Fresh).is_none());
}

#[test]
fn a_start_of_tls_with_data_is_invalid() {
    let mut connection = greeted(TlsPolicy::Offered);
    connection.receive("'IHAVEOPT' 00000005 00000001 00");
    assert_eq!(&connection.take_sent()[8..16], message("00000005 80000003"));
    connection.receive(START);
    connection.expect("0003e889045565a9 00000005 00000001 00000000");
}
