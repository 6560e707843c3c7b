use super::*;

const READ: &str = "25609513 0000 0000 00000000000000aa 0000000000001000 00000200";

#[test]
fn a_read_is_one_chunk() {
    let mut connection = Connection::open(true);
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Done, Some([b'a'; 512].to_vec()));
    let data = "a".repeat(512);
    connection.expect(&format!("668e33ef 0001 0001 00000000000000aa 00000208 0000000000001000 '{data}'"));
}

#[test]
fn holes_are_chunks_of_their_own() {
    let mut connection = Connection::open(true);
    connection.receive(READ);
    let (id, ..) = connection.request();
    let runs = [Run::Hole(10), Run::Data(2), Run::Hole(490), Run::Data(3), Run::Hole(7)];
    connection.reply(id, Outcome::Runs(&runs), Some(b"abcde".to_vec()));
    connection.expect(
        "668e33ef 0000 0002 00000000000000aa 0000000c 0000000000001000 0000000a
         668e33ef 0000 0001 00000000000000aa 0000000a 000000000000100a 'ab'
         668e33ef 0000 0002 00000000000000aa 0000000c 000000000000100c 000001ea
         668e33ef 0000 0001 00000000000000aa 0000000b 00000000000011f6 'cde'
         668e33ef 0001 0002 00000000000000aa 0000000c 00000000000011f9 00000007",
    );
    assert_eq!((connection.session.under_way(), connection.recycled.len()), (0, 1));
}

#[test]
fn a_read_in_one_piece_has_its_zeroes_in_it() {
    let in_one_piece = READ.replace("25609513 0000", "25609513 0004");
    let mut connection = Connection::open(true);
    connection.receive(&in_one_piece);
    let (id, command, _) = connection.request();
    assert_eq!(command, Command::Read { offset: 4096, length: 512, in_one_piece: true });
    connection.reply(id, Outcome::Runs(&[Run::Hole(509), Run::Data(3)]), Some(b"abc".to_vec()));
    connection.expect("668e33ef 0001 0001 00000000000000aa 00000208 0000000000001000 0*509 'abc'");
    // Nothing but holes is one hole.
    connection.receive(&in_one_piece);
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Runs(&[Run::Hole(500), Run::Hole(12)]), None);
    connection.expect("668e33ef 0001 0002 00000000000000aa 0000000c 0000000000001000 00000200");
}

#[test]
fn errors_are_chunks() {
    let mut connection = Connection::open(true);
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Failed(ErrorNumber::Io), None);
    connection.expect("668e33ef 0001 8001 00000000000000aa 00000006 00000005 0000");
    connection.receive(READ);
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::FailedAt(ErrorNumber::Io, 0x1100), None);
    connection.expect("668e33ef 0001 8002 00000000000000aa 0000000e 00000005 0000 0000000000001100");
}

#[test]
fn refusals_say_why() {
    let mut connection = Connection::open(true);
    connection.receive("25609513 0000 0000 00000000000000aa 0000000000000000 00000000");
    connection.expect("668e33ef 0001 8001 00000000000000aa 00000018 00000016 0012 'the' 20 'length' 20 'is' 20 'zero'");
    // More than the maximum: only a read may overflow.
    connection.receive("25609513 0000 0000 00000000000000aa 0000000000000000 00010200");
    assert_eq!(connection.take_sent()[20..24], message("0000004b"));
    connection.receive("25609513 0000 0001 00000000000000aa 0000000000000000 00010200 0*66048");
    assert_eq!(connection.take_sent()[20..24], message("00000016"));
}

#[test]
fn what_is_no_read_is_acknowledged_simply() {
    let mut connection = Connection::open(true);
    connection.receive("25609513 0000 0003 00000000000000aa 0000000000000000 00000000");
    let (id, ..) = connection.request();
    connection.reply(id, Outcome::Done, None);
    connection.expect("67446698 00000000 00000000000000aa");
}

/// What extents of a status of 4 KiB are sent, and the bytes of each.
fn extents_sent(flags: &str, extents: &[(u32, bool, bool)]) -> String {
    let mut connection = Connection::open(true);
    connection.receive(&format!("25609513 {flags} 0007 00000000000000aa 0000000000000000 00001000"));
    let (id, command, _) = connection.request();
    assert!(matches!(command, Command::BlockStatus { offset: 0, length: 4096, .. }));
    let extent = |&(length, is_hole, is_zero): &(u32, bool, bool)| Extent { length, is_hole, is_zero };
    let extents: Vec<Extent> = extents.iter().map(extent).collect();
    connection.reply(id, Outcome::Extents(&extents), None);
    let sent = connection.take_sent();
    assert_eq!(sent[..16], message("668e33ef 0001 0005 00000000000000aa"));
    assert_eq!(sent[16..20], (sent.len() as u32 - 20).to_be_bytes());
    assert_eq!(sent[20..24], message("00000001"), "the number that base:allocation was given");
    sent[24..].chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + " ").collect()
}

#[test]
fn block_status_lists_extents_until_the_end_of_what_was_asked() {
    let four = [(1024, false, false), (2048, true, true), (8192, false, true), (4096, true, false)];
    assert_eq!(extents_sent("0000", &four), "00000400 00000000 00000800 00000003 00002000 00000002 ");
    assert_eq!(extents_sent("0008", &four), "00000400 00000000 ");
    // One extent must not be longer than what was asked.
    assert_eq!(extents_sent("0008", &four[2..]), "00001000 00000002 ");
    assert_eq!(extents_sent("0000", &[(4096, false, false), (1, true, true)]), "00001000 00000000 ");
    assert_eq!(extents_sent("0000", &four[..1]), "00000400 00000000 ");
    let many = vec![(1, false, false); 2000];
    assert_eq!(extents_sent("0000", &many).len(), 1024 * 18);
}

#[test]
fn block_status_outside_of_the_export_is_invalid() {
    let mut connection = Connection::open(true);
    connection.receive("25609513 0000 0007 00000000000000aa 00000000000ffe00 00000400");
    assert_eq!(connection.take_sent()[20..24], message("00000016"));
}

#[test]
#[should_panic(expected = "is no answer to")]
fn a_status_without_extents_is_a_fault_of_the_embedder() {
    let mut connection = Connection::open(true);
    connection.receive("25609513 0000 0007 00000000000000aa 0000000000000000 00001000");
    let (id, ..) = connection.request();
    connection.session.reply(id, Outcome::Done, None);
}
