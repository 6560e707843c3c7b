//! The output of `--help`, which every command has.

use crate::support::esker_ok;

#[test]
fn help_shows_every_command_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    let help = esker_ok(folder.path(), &["--help"]).stdout;
    insta::assert_snapshot!(help);
    for command in ["study", "plan", "report", "sim", "sweep", "mrc", "cache", "reproduce"] {
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

#[test]
fn a_preset_is_shown_beside_data_sheets_and_stays_a_file_that_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let shown = esker_ok(folder.path(), &["devices", "mlc-3d-512g"]).stdout;
    let table = shown.split("# beside data sheets").nth(1).expect("there is a table");
    assert!(table.contains("sequential reads, 128 KiB, depth 32") && table.contains("3,500"), "{shown}");
    let settings: toml::Table = shown.parse().expect("what is shown is TOML");
    assert_eq!(settings["geometry"]["units_per_page"].as_integer(), Some(8));
    // Drives of the papers are compared with the papers instead.
    let old = esker_ok(folder.path(), &["devices", "samsung-k9xxg08-slc-32g"]).stdout;
    assert!(!old.contains("beside data sheets"));
}

#[test]
fn devices_lists_what_experiments_choose_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let list = esker_ok(folder.path(), &["devices"]).stdout;
    for form in ["`ftl = \"NAME\"` or `ftl = {", "`cleaning.victim = \"NAME\"` or ", "`scheduler = \"NAME\"`:\n"] {
        assert!(list.contains(form), "{form} is not in:\n{list}");
    }
    assert!(list.contains("\nPlacement policies, `policy = {"), "they are read from a table");
    for line in ["\n  dftl: ", "\n  cost-benefit: ", "\n    window = 32: ", "\n  c-look: ", "\n  static-split: "] {
        assert!(list.contains(line), "{line} is not in:\n{list}");
    }
    for line in ["\n  lirs: ", "\n    hir = 1%: ", "\n  belady: ", "\n  second-hit: "] {
        assert!(list.contains(line), "{line} is not in:\n{list}");
    }
    for sort in esker_sim::choices() {
        let (_, rest) = list.split_once(&format!("\n{}, `{} = ", sort.title, sort.key)).expect(sort.title);
        let section = rest.split("\n\n").next().unwrap();
        for entry in &sort.entries {
            assert!(section.contains(&format!("\n  {}: {}", entry.name, entry.summary)), "{}:\n{section}", entry.name);
        }
    }
}
