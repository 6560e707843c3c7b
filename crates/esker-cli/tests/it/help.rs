//! What `--help` says, and that every command has it.

use crate::support::esker_ok;

#[test]
fn help_shows_every_command_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    let help = esker_ok(folder.path(), &["--help"]).stdout;
    insta::assert_snapshot!(help);
    for command in ["study", "sim", "sweep", "mrc", "reproduce"] {
        let help = esker_ok(folder.path(), &[command, "--help"]).stdout;
        assert!(help.contains("Example"), "{command} has no example:\n{help}");
    }
}

#[test]
fn study_help() {
    let folder = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(esker_ok(folder.path(), &["study", "--help"]).stdout);
}

#[test]
fn completions_and_man_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        assert!(esker_ok(folder.path(), &["completions", shell]).stdout.contains("esker"));
    }
    esker_ok(folder.path(), &["man", "man"]);
    assert!(folder.path().join("man/esker-study.1").exists());
}
