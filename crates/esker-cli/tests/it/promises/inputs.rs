//! Whatever a command reads is its input, and stays.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::{Ground, WRITING};

#[test]
fn no_command_replaces_what_it_reads_or_what_that_names() {
    let ground = Ground::new();
    for writing in WRITING {
        for input in writing.inputs {
            let before = fs::read(ground.path(input)).unwrap();
            for alias in ["itself", "hard", "soft"] {
                let (out, path) = writing.place(&ground, &format!("{alias}.{}", input.replace('/', ".")));
                let out = match (alias, writing.inside) {
                    // A table has its own name, so no input can have it but by a link.
                    ("itself", Some(_)) => continue,
                    ("itself", None) => input.to_string(),
                    ("hard", _) => {
                        fs::hard_link(ground.path(input), &path).unwrap();
                        out
                    }
                    _ => {
                        symlink(ground.path(input), &path).unwrap();
                        out
                    }
                };
                for force in [&[][..], &["--force".to_string()]] {
                    let arguments = [&writing.to(&out), force].concat();
                    let error = ground.refuses(&arguments);
                    let named = error.contains("would replace the input") && error.contains(input);
                    assert!(named, "esker {}: {error}", arguments.join(" "));
                    assert!(fs::read(ground.path(input)).unwrap() == before, "esker {}", arguments.join(" "));
                }
                if alias != "itself" {
                    fs::remove_file(&path).unwrap();
                }
            }
        }
    }
}

#[test]
fn what_standard_output_is_appended_to_may_be_no_input() {
    let ground = Ground::new();
    for (input, arguments) in [
        ("disk.toml", &["sim", "sim.toml"][..]),
        ("second.toml", &["sweep", "sweep.toml", "-o", "points"]),
        ("small.toml", &["devices", "--catalogue", "shop.toml"]),
        ("small.csv", &["validate", "experiment.toml", "--measured", "measured"]),
    ] {
        let before = fs::read(ground.path(input)).unwrap();
        let mut command = crate::support::command(ground.0.path(), arguments);
        let log = fs::OpenOptions::new().append(true).open(ground.path(input)).unwrap();
        let run = crate::support::run(command.stdout(log), input).unwrap();
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("standard output is the input {input}")), "{}", run.stderr);
        assert!(fs::read(ground.path(input)).unwrap() == before);
    }
}

#[test]
fn a_trace_is_replaced_by_force_alone() {
    let ground = Ground::new();
    let before = fs::read(ground.path("small.csv")).unwrap();
    // If the trace comes from a pipe, esker cannot know that the file is the same.
    let mut shell = Command::new("sh");
    let script = "cat small.csv | \"$0\" trace convert - --to msr -q -o small.csv";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_esker")]).current_dir(ground.0.path());
    let run = crate::support::run(shell.stdout(Stdio::piped()).stderr(Stdio::piped()), "in a shell").unwrap();
    assert!(run.code == 2 && run.stderr.contains("--force"), "{}", run.stderr);
    assert!(fs::read(ground.path("small.csv")).unwrap() == before);
    for writing in WRITING.iter().filter(|writing| writing.row.starts_with("trace") && !writing.row.ends_with("json")) {
        let arguments = writing.to("made.csv");
        assert_eq!(ground.run(&arguments).code, 0);
        let made = fs::read(ground.path("made.csv")).unwrap();
        assert!(ground.refuses(&arguments).contains("--force"));
        fs::write(ground.path("made.csv"), "not a trace").unwrap();
        assert_eq!(ground.run(&[arguments, vec!["--force".to_string()]].concat()).code, 0);
        assert!(fs::read(ground.path("made.csv")).unwrap() == made);
        fs::remove_file(ground.path("made.csv")).unwrap();
    }
}
