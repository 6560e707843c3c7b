use super::*;

const STATUS: &str = "25609513 0000 0007 00000000000000aa 0000000000000000 00001000";

fn restored(exports: &Exports, state: &[u8]) -> Result<Connection, RestoreError> {
    ServerSession::restore(ServerSettings::default(), exports, state).map(Connection::of)
}

#[test]
fn another_process_goes_on_in_the_middle_of_a_request() {
    let mut connection = Connection::open(true);
    connection.session.hold(true);
    assert!(connection.session.space().is_none());
    connection.session.hold(false);
    // The first part of a request.
    connection.receive(&STATUS[..31]);
    connection.session.hold(true);
    let state = connection.session.state().unwrap();
    let mut connection = restored(&exports(), &state).unwrap();
    assert!(connection.events.is_empty() && !connection.session.is_negotiating());
    connection.receive(&STATUS[31..]);
    let (id, command, _) = connection.request();
    assert_eq!(command, Command::BlockStatus { offset: 0, length: 4096, one_extent: false });
    connection.reply(id, Outcome::Extents(&[Extent { length: 4096, is_hole: true, is_zero: true }]), None);
    connection.expect("668e33ef 0001 0005 00000000000000aa 0000000c 00000001 00001000 00000003");
}

#[test]
fn a_client_that_opens_its_export_while_the_session_is_held_waits_with_its_requests() {
    let mut connection = Connection::with(ServerSettings::default());
    connection.session.hold(true);
    let opening = "00000003 'IHAVEOPT' 00000001 00000004 'disk'";
    let write = "25609513 0000 0001 00000000000000aa 0000000000000000 00000200 0*512";
    connection.receive(&format!("{opening} {write}"));
    assert!(matches!(connection.events.pop(), Some(ServerEvent::Opened(export)) if export.name == "disk"));
    assert!(connection.events.is_empty() && connection.session.space().is_none());
    assert!(connection.session.under_way() == 0 && connection.session.state().is_ok());
    connection.session.hold(false);
    connection.run();
    assert!(matches!(connection.request(), (_, Command::Write { .. }, Some(_))));
}

#[test]
fn a_payload_that_is_being_dropped_is_dropped_to_its_end() {
    let mut connection = Connection::open(false);
    connection.receive("25609513 0002 0001 00000000000000aa 0000000000000000 00001000 0*1000");
    let state = connection.session.state().unwrap();
    let mut connection = restored(&exports(), &state).unwrap();
    connection.receive("0*3096 25609513 0000 0003 00000000000000bb 0000000000000000 00000000");
    assert!(matches!(connection.request(), (_, Command::Flush, None)));
}

#[test]
fn a_session_is_written_down_only_between_requests() {
    assert_eq!(Connection::greeted("00000003").session.state(), Err(NotIdle::NotOpen));
    let mut connection = Connection::open(true);
    connection.receive(&format!("{STATUS} {STATUS}"));
    assert_eq!(connection.session.state(), Err(NotIdle::UnderWay));
    connection.session.hold(true);
    for event in std::mem::take(&mut connection.events) {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        connection.session.reply(request.id, Outcome::Failed(ErrorNumber::Io), None);
        assert_eq!(connection.session.state(), Err(NotIdle::UnderWay), "a reply is not sent");
    }
    connection.run();
    assert!(connection.session.state().is_ok());
    // A write, part of whose payload is there.
    connection.session.hold(false);
    connection.receive("25609513 0000 0001 00000000000000aa 0000000000000000 00001000 00");
    assert_eq!(connection.session.state(), Err(NotIdle::UnderWay));
    connection.session.hold(true);
    connection.receive("0*4095");
    assert!(matches!(connection.request(), (_, Command::Write { .. }, Some(_))), "it is received to its end");
    let mut connection = Connection::open(true);
    connection.receive("25609513 0000 0002 0000000000000000 0000000000000000 00000000");
    assert_eq!(connection.session.state(), Err(NotIdle::NotOpen), "the client has left");
}

#[test]
fn an_export_that_has_grown_keeps_its_size_for_the_client() {
    let state = Connection::open(false).session.state().unwrap();
    let changed = |change: fn(&mut Export)| {
        let mut disk = exports().find("disk").unwrap().as_ref().clone();
        change(&mut disk);
        restored(&Exports::new(vec![disk], None).unwrap(), &state)
    };
    let mut connection = changed(|disk| disk.size = Bytes::mib(2)).unwrap();
    connection.receive("25609513 0000 0000 00000000000000aa 0000000000100000 00000200");
    connection.expect("67446698 00000016 00000000000000aa");
    for result in [
        changed(|disk| disk.size = Bytes::kib(1023)),
        changed(|disk| disk.is_read_only = true),
        changed(|disk| disk.block_sizes.minimum = 1024),
        changed(|disk| disk.block_sizes.maximum = 32768),
    ] {
        assert!(matches!(result.err(), Some(RestoreError::Changed(name)) if name == "disk"));
    }
    let gone = changed(|disk| disk.name = "other".to_string());
    assert!(matches!(gone.err(), Some(RestoreError::Unknown(_))));
    let settings = ServerSettings { tls: TlsPolicy::Required, ..ServerSettings::default() };
    let encrypted = ServerSession::<Vec<u8>, Vec<u8>>::restore(settings, &exports(), &state);
    assert_eq!(encrypted.err(), Some(RestoreError::NeedsTls));
}

#[test]
fn damaged_states_are_refused() {
    let state = Connection::open(true).session.state().unwrap();
    for length in 0..state.len() {
        assert!(restored(&exports(), &state[..length]).is_err(), "the first {length} bytes");
    }
    for at in 0..state.len() {
        for bit in 0..8 {
            let mut damaged = state.clone();
            damaged[at] ^= 1 << bit;
            // A smaller size, other bytes to be dropped and less that was agreed on cannot be told from the truth.
            let is_plausible = (10..18).contains(&at) || (32..40).contains(&at) || at == 9;
            assert!(restored(&exports(), &damaged).is_err() || is_plausible, "byte {at}, bit {bit}");
        }
    }
    let too_long = [&state[..], &[0; 70_000]].concat();
    assert!(matches!(restored(&exports(), &too_long).err(), Some(RestoreError::Malformed)));
}
