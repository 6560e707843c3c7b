//! Every command, flag and option that nbdsh can send, its checks switched off, and the errors that it gets: the tables
//! of docs/nbd.md.

use super::clients::{are_installed, log, run_served};
use super::home;

const SCRIPT: &str = include_str!("protocol.py");

#[test]
fn every_command_flag_and_option_is_answered_as_documented() {
    if !are_installed(&["nbdsh"]) {
        return;
    }
    let home = home();
    std::fs::write(home.path().join("protocol.py"), SCRIPT).unwrap();
    // Debian's Python has the module; another one that comes first may not.
    let run = run_served(home.path(), "PATH=/usr/bin:$PATH\nnbdsh -c 'uri = \"'$uri'\"' -c - <protocol.py");
    let checks = run.stdout.lines().filter(|line| line.starts_with("ok: ")).count();
    assert!(run.stdout.ends_with("all checks were made\n") && checks > 40, "{}{}", run.stdout, run.stderr);
    log(&format!("nbdsh made {checks} checks"));
}
