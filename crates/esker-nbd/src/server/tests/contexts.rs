use super::*;

const AGREE_ON_STRUCTURED: &str = "'IHAVEOPT' 00000008 00000000";

fn greeted() -> Connection {
    let mut connection = Connection::greeted("00000003");
    connection.receive(AGREE_ON_STRUCTURED);
    connection.take_sent();
    connection
}

#[test]
fn lists_have_the_context_for_every_way_to_ask_for_it() {
    // No query at all, the namespace, the context itself, and it among unknown ones.
    for data in [
        "0000000c 00000004 'disk' 00000000",
        "00000015 00000004 'disk' 00000001 00000005 'base:'",
        "0000001f 00000004 'disk' 00000001 0000000f 'base:allocation'",
        "00000026 00000004 'disk' 00000003 00000004 'x-a:' 00000005 'base:' 00000005 'x-b:c'",
    ] {
        let mut connection = greeted();
        connection.receive(&format!("'IHAVEOPT' 00000009 {data}"));
        connection.expect(
            "0003e889045565a9 00000009 00000004 00000013 00000000 'base:allocation'
             0003e889045565a9 00000009 00000001 00000000",
        );
    }
    let mut connection = greeted();
    connection.receive("'IHAVEOPT' 00000009 00000019 00000004 'disk' 00000001 00000009 'base:size'");
    connection.expect("0003e889045565a9 00000009 00000001 00000000");
}

#[test]
fn a_context_is_set_by_its_whole_name_only() {
    let set = "'IHAVEOPT' 0000000a 0000001f 00000004 'disk' 00000001 0000000f 'base:allocation'";
    let mut connection = greeted();
    connection.receive(set);
    connection.expect(
        "0003e889045565a9 0000000a 00000004 00000013 00000001 'base:allocation'
         0003e889045565a9 0000000a 00000001 00000000",
    );
    for nothing in ["0000000c 00000004 'disk' 00000000", "00000015 00000004 'disk' 00000001 00000005 'base:'"] {
        let mut connection = greeted();
        connection.receive(&format!("'IHAVEOPT' 0000000a {nothing}"));
        connection.expect("0003e889045565a9 0000000a 00000001 00000000");
    }
}

#[test]
fn malformed_and_unfit_questions_about_contexts_are_refused() {
    for (data, error) in [
        ("00000000", "80000003"),
        ("00000004 00000009", "80000003"),
        ("00000008 00000000 00000001", "80000003"),
        ("0000000c 00000000 00000001 00000001", "80000003"),
        ("00000009 00000000 00000000 00", "80000003"),
        ("00000008 00000000 ffffffff", "80000003"),
        ("00000010 00000000 00000001 00000004 'base'", "80000003"),
        ("0000000b 00000003 'dvd' 00000000", "80000006"),
        ("00010000", "80000009"),
    ] {
        let mut connection = greeted();
        connection.receive(&format!("'IHAVEOPT' 0000000a {data}"));
        assert_eq!(&connection.take_sent()[8..16], message(&format!("0000000a {error}")), "{data}");
    }
    let mut connection = Connection::greeted("00000003");
    for option in ["00000009", "0000000a"] {
        connection.receive(&format!("'IHAVEOPT' {option} 00000008 00000000 00000000"));
        assert_eq!(&connection.take_sent()[8..16], message(&format!("{option} 80000003")));
    }
}

/// What a block status is answered with after these options.
fn status_after(options: &[&str]) -> Option<Command> {
    let mut connection = greeted();
    options.iter().for_each(|option| connection.receive(option));
    connection.receive("'IHAVEOPT' 00000007 0000000a 00000004 'disk' 0000");
    connection.events.clear();
    connection.take_sent();
    connection.receive("25609513 0000 0007 0000000000000001 0000000000000000 00001000");
    connection.events.pop().map(|event| match event {
        ServerEvent::Request(request) => request.command,
        event => panic!("{event:?}"),
    })
}

#[test]
fn a_context_counts_for_the_export_and_until_it_is_set_anew() {
    let disk = "'IHAVEOPT' 0000000a 0000001f 00000004 'disk' 00000001 0000000f 'base:allocation'";
    let default = "'IHAVEOPT' 0000000a 0000001b 00000000 00000001 0000000f 'base:allocation'";
    let cd = "'IHAVEOPT' 0000000a 0000001d 00000002 'cd' 00000001 0000000f 'base:allocation'";
    let malformed = "'IHAVEOPT' 0000000a 00000001 00";
    let too_long = format!("'IHAVEOPT' 0000000a 00010000 0*{}", 0x10000);
    let none = "'IHAVEOPT' 0000000a 0000000c 00000004 'disk' 00000000";
    let status = Some(Command::BlockStatus { offset: 0, length: 4096, one_extent: false });
    assert_eq!(status_after(&[disk]), status);
    assert_eq!(status_after(&[default]), status, "it is the same export");
    assert_eq!(status_after(&[cd, disk]), status);
    assert_eq!(status_after(&[]), None);
    assert_eq!(status_after(&[cd]), None);
    assert_eq!(status_after(&[disk, cd]), None);
    assert_eq!(status_after(&[disk, none]), None);
    assert_eq!(status_after(&[disk, malformed]), None);
    assert_eq!(status_after(&[disk, &too_long]), None);
}
