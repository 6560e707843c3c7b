//! Output on a terminal, and elsewhere.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::support::{esker_in, folder_with_trace};

/// What `esker ARGUMENTS` writes to standard error on a terminal.
fn on_a_terminal(arguments: &[&str], no_color: bool) -> String {
    let folder = folder_with_trace(10);
    let terminal = nix::pty::openpty(None, None).expect("there are terminals left");
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("CLICOLOR").stderr(terminal.slave);
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let mut child = command.spawn().expect("the program starts");
    // The end of the terminal that the command has closes when it is dropped.
    drop(command);
    let (mut shown, mut screen, mut bytes) = (Vec::new(), File::from(terminal.master), [0; 4096]);
    while let Ok(count @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    child.wait().expect("the program can be waited for");
    String::from_utf8(shown).expect("it is text")
}

#[test]
fn errors_are_coloured_on_a_terminal_only() {
    // One error of esker, and one of clap.
    for arguments in [&["devices", "tlc"][..], &["study"]] {
        let coloured = on_a_terminal(arguments, false);
        assert!(coloured.contains("\u{1b}[") && coloured.contains("error:"), "{coloured:?}");
        let plain = on_a_terminal(arguments, true);
        assert!(plain.contains("error:") && !plain.contains("\u{1b}[3"), "{plain:?}");
        let folder = folder_with_trace(10);
        let piped = esker_in(folder.path(), arguments).stderr;
        assert!(piped.contains("error:") && !piped.contains('\u{1b}'), "{piped:?}");
    }
    assert!(on_a_terminal(&["devices", "tlc"], false).contains("hint:"));
}

#[test]
fn there_are_bars_on_a_terminal_only() {
    let info = ["trace", "info", "small.csv"];
    assert!(on_a_terminal(&info, false).contains('\u{1b}'), "a bar is drawn and cleared");
    let folder = folder_with_trace(10);
    assert_eq!(esker_in(folder.path(), &info).stderr, "", "short work says nothing");
}
