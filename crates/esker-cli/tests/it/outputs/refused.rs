//! Outputs that are refused: inputs, other outputs of the command, and files of another kind.

use std::fs::{self, OpenOptions};
use std::process::Command;

use super::{Ground, WRITING, is_root, skip, tool};

/// Ways to name the file `input`, each created in the folder.
fn aliases(ground: &Ground, input: &str) -> Vec<String> {
    let names = ["soft", "soft-to-soft", "hard", "folder"].map(|name| format!("{name}-{input}"));
    ground.link(input, &names[0]);
    ground.link(&names[0], &names[1]);
    fs::hard_link(ground.path(input), ground.path(&names[2])).unwrap();
    ground.link(".", &names[3]);
    let whole = ground.path(input).display().to_string();
    let [soft, twice, hard, folder] = names;
    vec![input.to_string(), format!("./{input}"), whole, soft, twice, hard, format!("{folder}/{input}")]
}

#[test]
fn no_input_is_replaced_by_whatever_name() {
    for ground in Ground::each() {
        for input in ["small.csv", "other.csv", "sim.toml", "sweep.toml", "spec.toml"] {
            let before = ground.read(input);
            let aliases = aliases(&ground, input);
            let names = ground.names();
            for writing in WRITING.iter().filter(|writing| writing.inputs.contains(&input)) {
                for alias in &aliases {
                    for force in [None, Some("--force".to_string())] {
                        let arguments = [writing.to(alias), force.into_iter().collect()].concat();
                        let error = ground.fails(2, &arguments);
                        assert!(error.contains(alias) && error.contains(input), "{error}");
                        assert!(ground.read(input) == before, "{} changed {input}", ground.shown(&arguments));
                    }
                }
            }
            assert_eq!(ground.names(), names);
        }
    }
}

#[test]
fn a_pattern_behind_the_output_costs_no_trace() {
    let ground = Ground::new(None);
    for name in ["a", "b", "c"] {
        ground.write(
            &format!("{name}.spc"),
            format!("0,{name},4096,R,0.0\n0,8,4096,W,0.5\n").replace(['a', 'b', 'c'], "8"),
        );
        fs::copy(ground.path("small.csv"), ground.path(&format!("{name}.csv"))).unwrap();
    }
    let before: Vec<(String, Vec<u8>)> =
        ground.names().into_iter().map(|name| (name.clone(), ground.read(&name))).collect();
    for arguments in [
        &["trace", "convert", "-o", "a.csv", "b.csv", "c.csv"][..],
        &["trace", "convert", "--to", "msr", "-o", "a.csv", "b.csv"],
        &["trace", "convert", "-o", "a.spc", "b.spc"],
        &["trace", "filter", "-o", "a.spc", "b.spc"],
        &["trace", "filter", "--to", "spc", "-qo", "a.spc", "b.csv"],
        &["study", "-o", "a.csv", "b.csv", "c.csv"],
        &["study", "a.csv", "-o", "a.csv", "b.csv", "c.csv"],
        &["trace", "generate", "--to", "msr", "-o", "a.csv", "b.csv", "--like", "c.csv"],
    ] {
        ground.fails(2, arguments);
        for (name, bytes) in &before {
            assert!(ground.read(name) == *bytes, "{} changed {name}", ground.shown(arguments));
        }
    }
    // A trace of the same format is replaced with `--force` alone.
    ground.fails(2, &["trace", "filter", "b.spc", "--head", "1", "-o", "a.spc"]);
    ground.succeeds(&["trace", "filter", "b.spc", "--head", "1", "--force", "-o", "a.spc"]);
    ground.succeeds(&["trace", "filter", "--force", "--head", "1", "-o", "c.spc", "b.spc"]);
    assert_eq!(ground.read("a.spc"), ground.read("c.spc"));
}

#[test]
fn a_file_of_another_kind_is_replaced_only_by_force() {
    for ground in Ground::each() {
        for writing in WRITING {
            let name = writing.name("there");
            let before = ground.something(&name);
            ground.link(&name, "leads-there");
            for out in [name.as_str(), "leads-there"] {
                let error = ground.fails(2, &writing.to(out));
                assert!(error.contains(out) && error.contains("--force"), "{error}");
                assert_eq!(ground.read(&name), before);
            }
            fs::remove_file(ground.path("leads-there")).unwrap();
            // The output of another command is of another kind, too.
            for other in
                [&b"{\"a\": 1}\n{\"a\": 2}\n"[..], b"<!DOCTYPE html><html></html>", b"0,8,4096,R,0.0\n", b"\0\0"]
            {
                ground.write(&name, other);
                ground.fails(2, &writing.to(&name));
                assert_eq!(ground.read(&name), other);
            }
            fs::remove_file(ground.path(&name)).unwrap();
        }
        for writing in super::Writing::quick() {
            let name = writing.name("forced");
            ground.something(&name);
            ground.succeeds(&[writing.to(&name), vec!["--force".to_string()]].concat());
            assert_ne!(ground.read(&name), b"");
            ground.succeeds(&writing.again(&name));
        }
    }
}

#[test]
fn two_results_need_two_files() {
    let ground = Ground::new(None);
    ground.link("new.html", "leads-to-new");
    for arguments in [
        &["study", "small.csv", "-o", "new.html", "--json=new.html"][..],
        &["study", "small.csv", "-o", "new.html", "--json=./leads-to-new"],
        &["reproduce", "agrawal/traces", "-o", "new.html", "--json=leads-to-new"],
        &["sweep", "sweep.toml", "-o", ".", "--json=sweep.csv"],
    ] {
        let error = ground.fails(2, arguments);
        assert!(error.contains("a file of its own"), "{error}");
    }
    let ground = Ground::harmless();
    for arguments in [
        &["study", "small.csv", "-o", "-", "--json"][..],
        &["study", "small.csv", "-o", "/dev/stdout", "--json"],
        &["reproduce", "agrawal/traces", "-o", "-", "--json=/dev/fd/1"],
    ] {
        let error = ground.fails(2, arguments);
        assert!(error.contains("standard output") && error.contains("hint:"), "{error}");
    }
}

#[test]
fn a_sweep_keeps_its_inputs_that_lie_among_its_results() {
    let ground = Ground::new(None);
    fs::create_dir(ground.path("points")).unwrap();
    for name in ["points/sweep.csv", "points/0123456789abcdef.json"] {
        fs::hard_link(ground.path("other.csv"), ground.path(name)).unwrap();
        let before = ground.read("other.csv");
        for force in [&[][..], &["--force"]] {
            let error = ground.fails(2, &[&["sweep", "sweep.toml", "-o", "points"], force].concat());
            assert!(error.contains(name) && error.contains("other.csv"), "{error}");
        }
        assert!(ground.read("other.csv") == before);
        fs::remove_file(ground.path(name)).unwrap();
    }
    ground.something("points/sweep.csv");
    assert!(ground.fails(2, &["sweep", "sweep.toml", "-o", "points"]).contains("points/sweep.csv"));
    fs::remove_file(ground.path("points/sweep.csv")).unwrap();
    ground.succeeds(&["sweep", "sweep.toml", "-o", "points"]);
    let again = ground.succeeds(&["sweep", "sweep.toml", "-o", "points"]);
    assert!(again.stderr.contains("2 were there already"), "{}", again.stderr);
    assert_eq!(super::mode(&ground.path("points/sweep.csv")), super::mode(&ground.path("small.csv")));
    let ground_mode = super::mode(&ground.path("small.csv"));
    for entry in fs::read_dir(ground.path("points")).unwrap() {
        assert_eq!(super::mode(&entry.unwrap().path()), ground_mode, "results are ordinary files");
    }
}

#[test]
fn the_traces_of_papers_are_inputs() {
    let ground = Ground::new(None);
    fs::create_dir(ground.path("traces")).unwrap();
    let trace = "traces/tpcc-small.mqsim";
    ground.write(trace, "1000 0 8 8 1\n");
    for out in [&["-o", trace][..], &["--json=traces/tpcc-small.mqsim"]] {
        let error = ground.fails(2, &[&["reproduce", "agrawal/traces", "--traces", "traces", "--force"], out].concat());
        assert!(error.contains("input traces/tpcc-small.mqsim"), "{error}");
    }
    assert_eq!(ground.read(trace), b"1000 0 8 8 1\n");
}

#[test]
fn standard_streams_are_compared_too() {
    let ground = Ground::new(None);
    let before = ground.read("small.csv");
    let open = || OpenOptions::new().read(true).append(true).open(ground.path("small.csv")).unwrap();
    // Standard input redirected from the output.
    for arguments in
        [&["trace", "convert", "-", "--to", "msr", "-o", "small.csv"][..], &["mrc", "-", "--json=small.csv"]]
    {
        let mut command = ground.command(arguments);
        let run = crate::support::run(command.stdin(open()), "from the output").unwrap();
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("the input standard input"), "{}", run.stderr);
    }
    // Standard output appended to an input.
    for writing in WRITING.iter().filter(|writing| writing.inputs.contains(&"small.csv")) {
        let mut command = ground.command(&writing.to(&writing.name("elsewhere")));
        let run = crate::support::run(command.stdout(open()), "to an input").unwrap();
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("standard output is the input small.csv"), "{}", run.stderr);
    }
    assert!(ground.read("small.csv") == before);
}

/// A loop device over a file; detached at the end.
pub(super) struct Loop(pub(super) String);

impl Loop {
    /// A loop device over `file`, and a node `FILE.node` for it, so that a faulty program cannot replace the system's
    /// own node.
    pub(super) fn over(ground: &Ground, file: &str) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let made = Command::new("losetup").args(["--find", "--show"]).arg(ground.path(file)).output().ok()?;
        let name = String::from_utf8(made.stdout).ok()?;
        let device = Self(name.trim().to_string());
        let number = device.0.strip_prefix("/dev/loop").filter(|_| made.status.success())?;
        fs::remove_file(ground.path(&format!("{file}.node"))).ok();
        ground.device(&format!("{file}.node"), ["b", "7", number], "")?;
        Some(device)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn a_loop_device_is_the_file_behind_it() {
    let ground = Ground::new(None);
    let mut trace = ground.read("small.csv");
    trace.resize(1 << 20, b'\n');
    ground.write("disk.csv", &trace);
    let Some(device) = Loop::over(&ground, "disk.csv") else {
        return skip("loop devices need root and a kernel that lets it");
    };
    ground.link("disk.csv.node", "node.csv");
    // Another node for the same device is the same device.
    for input in ["disk.csv", "disk.csv.node", device.0.as_str()] {
        for out in ["disk.csv.node", "node.csv", "disk.csv"] {
            let arguments = ["trace", "convert", input, "--to", "msr", "-o", out, "--force"];
            assert!(ground.fails(2, &arguments).contains("would replace the input"));
            let out = format!("--json={out}");
            assert!(ground.fails(2, &["mrc", input, &out, "--force"]).contains("would replace the input"));
        }
    }
    assert!(ground.read("disk.csv") == trace);
}
