//! What is there and is not esker's own stays, unless `--force` is given.

use std::fs;

use super::{Ground, WRITING, Writing};

const PACKAGE: &str = r#"{"name": "left-pad", "version": "1.3.0", "schema": 1, "devices": {}}"#;

#[test]
fn no_command_takes_the_file_of_another_program_for_its_own() {
    let ground = Ground::new();
    for writing in WRITING {
        let (out, path) = writing.place(&ground, "there");
        for text in [PACKAGE, "[]", "{}", "[{\"name\": \"a\", \"kind\": \"b\", \"summary\": \"c\"}]", "Dear diary\n"] {
            fs::write(&path, text).unwrap();
            let error = ground.refuses(&writing.to(&out));
            assert!(error.contains("there already"), "{}: {error}", writing.row);
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{}", writing.row);
        }
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn json_is_replaced_by_json_of_the_same_command_alone() {
    let ground = Ground::new();
    // A study takes seconds; one is there.
    let quick: Vec<&Writing> =
        WRITING.iter().filter(|writing| writing.row.ends_with("--json") && writing.row != "study --json").collect();
    for writing in &quick {
        let name = writing.row.replace(' ', "");
        let run = ground.run(&writing.to(&name));
        // A claim may be missed: the trace is none of the paper's.
        assert!(run.code == 0 || writing.row.starts_with("reproduce"), "{}: {}", writing.row, run.stderr);
        assert!(ground.path(&name).exists(), "{}: {}", writing.row, run.stderr);
    }
    for writing in &quick {
        for other in quick.iter().map(|other| other.row).chain(["study.json"]) {
            let name = other.replace(' ', "");
            let before = fs::read(ground.path(&name)).unwrap();
            // A replay has the results of a simulation.
            let kind =
                |row: &str| if row == "volume replay --json" { "sim --json".to_string() } else { row.to_string() };
            if kind(other) == kind(writing.row) {
                let run = ground.run(&writing.to(&name));
                assert!(run.code == 0 || writing.row.starts_with("reproduce"), "{other}: {}", run.stderr);
            } else {
                assert!(ground.refuses(&writing.to(&name)).contains("--force"), "{} over {other}", writing.row);
                assert!(fs::read(ground.path(&name)).unwrap() == before, "{} over {other}", writing.row);
            }
        }
    }
}
