//! Messages for mistakes in experiment files: one line each, with position, key and hint.

use esker_core::{Hint, registry};
use esker_sim::{DEVICE_KINDS, Experiment, HYBRID_POLICIES, RunOptions, run};

const GOOD: &str = r#"
[workload]
synthetic = { requests = 10, size = "4KiB" }

[device.flash]
preset = "samsung-k9xxg08-slc-32g"
cleaning = { victim = "greedy", threshold = "5%" }

[device.disk]
kind = "hdd"
preset = "ibm-ultrastar-36z15"

[device.volume]
kind = "hybrid"
children = ["flash", "disk"]
policy = { kind = "static-split", weights = [1, 1] }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "4GiB"

[run]
target = "station"
"#;

/// Compares the message of reading, building or running `GOOD` with `from` replaced by `to`. Reports all differences.
#[track_caller]
fn check(cases: &[(&str, &str, &str)]) {
    let mut differences = String::new();
    for (from, to, expected) in cases {
        assert_eq!(GOOD.matches(from).count(), 1, "`{from}` stands once in the good file");
        let found = message_of(&GOOD.replacen(from, to, 1));
        if found != *expected {
            differences += &format!("expected {expected}\n   found {found}\n");
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[track_caller]
fn message_of(text: &str) -> String {
    match Experiment::from_str(text, "x.toml") {
        Err(error) => error.to_string(),
        Ok(experiment) => match experiment.assemble().err() {
            Some(error) => error.to_string(),
            None => run(&experiment, &RunOptions::default()).unwrap_err().to_string(),
        },
    }
}

/// 80 is 8,000 %, and was meant as 80 %.
#[test]
fn shares_of_more_than_all_are_refused() {
    check(&[
        (
            "cleaning = {",
            "utilisation = 80\ncleaning = {",
            "x.toml:7:15: device.flash.utilisation: that is 8000%, and a share is at most 100%",
        ),
        (
            "target = \"station\"",
            "target = \"station\"\nsettle = { within = 2 }",
            "x.toml:25:12: run.settle.within: that is 200%, and a share is at most 100%",
        ),
    ]);
    let text = GOOD.replace("cleaning = {", "utilisation = 80\ncleaning = {");
    let error = Experiment::from_str(&text, "x.toml").unwrap_err();
    let hint =
        "a share is a number from 0 to 1, or a percentage up to \"100%\"; for 80 percent write utilisation = \"80%\"";
    assert_eq!(error.hint().as_deref(), Some(hint));
}

#[test]
fn workloads_are_presets_with_keys_laid_over_them() {
    let text = GOOD.replace("size = \"4KiB\"", "preset = \"wu-iozone-1r3w\", write_area = \"50%\"");
    let resolved = Experiment::from_str(&text, "x.toml").unwrap().resolved();
    let synthetic = &resolved["workload"]["synthetic"];
    assert_eq!((&synthetic["requests"], &synthetic["write_area"]), (&10.into(), &"50%".into()), "{synthetic}");
    assert_eq!((&synthetic["read_fraction"], synthetic.get("preset")), (&"25%".into(), None), "{synthetic}");
    let wrong = text.replace("wu-iozone-1r3w", "wu-dbnch");
    let error = Experiment::from_str(&wrong, "x.toml").unwrap_err();
    let found = format!("{error} {}", error.hint().unwrap_or_default());
    assert!(found.starts_with("x.toml:3:") && found.contains("wu-dbench"), "{found}");
}

#[test]
fn the_file_without_mistakes_runs() {
    let results = run(&Experiment::from_str(GOOD, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    assert_eq!(results.requests.all.count, 10);
}

#[test]
fn keys() {
    check(&[
        (
            "service_time",
            "servce_time",
            "x.toml:20:1: device.station.servce_time: unknown key; did you mean `service_time`?",
        ),
        (
            "threshold",
            "treshold",
            "x.toml:7:33: device.flash.cleaning.treshold: unknown key; did you mean `threshold`?",
        ),
        (
            "preset = \"samsung",
            "prset = \"samsung",
            "x.toml:6:1: device.flash.prset: unknown key; did you mean `preset`?",
        ),
        ("preset = \"ibm", "prset = \"ibm", "x.toml:11:1: device.disk.prset: unknown key; did you mean `preset`?"),
        (
            "kind = \"constant\"",
            "knd = \"constant\"",
            "x.toml:19:1: device.station.knd: unknown key; did you mean `kind`?",
        ),
        ("target", "tarket", "x.toml:24:1: run.tarket: unknown key; did you mean `target`?"),
        ("requests", "request", "x.toml:3:15: workload.synthetic.request: unknown key; did you mean `requests`?"),
        ("[run]", "[rum]", "x.toml:23:2: rum: `rum` is no table of an experiment; did you mean `run`?"),
        ("weights", "wieghts", "x.toml:16:35: device.volume.policy.wieghts: unknown key; did you mean `weights`?"),
        ("capacity = \"4GiB\"", "", "x.toml:18:1: device.station: `capacity` is missing"),
        ("kind = \"constant\"", "", "x.toml:18:1: device.station: `kind` or `preset` is missing"),
        ("preset = \"ibm-ultrastar-36z15\"", "", "x.toml:9:1: device.disk: `rotation_speed` is missing"),
    ]);
}

#[test]
fn values() {
    check(&[
        (
            "\"1ms\"",
            "1",
            "x.toml:20:16: device.station.service_time: `1` needs a unit: ns, µs (or us), ms, s, min, h, d or y (365 \
            days)",
        ),
        (
            "\"4GiB\"",
            "\"4GigaByte\"",
            "x.toml:21:12: device.station.capacity: `4GigaByte` has the unknown unit `GigaByte`: use B, kB, MB, GB, \
             TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (powers of 1024)",
        ),
        (
            "\"5%\"",
            "\"5ms\"",
            "x.toml:7:45: device.flash.cleaning.threshold: `5ms` has the unknown unit `ms`: use %, or none for a plain \
            fraction",
        ),
        (
            "\"4KiB\"",
            "4096",
            "x.toml:3:37: workload.synthetic.size: `4096` needs a unit: B, kB, MB, GB, TB, PB (powers of 1000) or \
             KiB, MiB, GiB, TiB, PiB (powers of 1024)",
        ),
        (
            "requests = 10,",
            "requests = \"ten\",",
            "x.toml:3:26: workload.synthetic.requests: expected a whole number that is zero or more, found the text \
            \"ten\"",
        ),
        (
            "requests = 10,",
            "requests = -10,",
            "x.toml:3:26: workload.synthetic.requests: expected a whole number that is zero or more, found `-10`",
        ),
        (
            "children = [\"flash\", \"disk\"]",
            "children = \"flash\"",
            "x.toml:15:12: device.volume.children: expected a list in square brackets, found the text \"flash\"",
        ),
        (
            "requests = 10,",
            "requests = 10, arrivals = 5,",
            "x.toml:3:41: workload.synthetic.arrivals: expected a table with `kind`, found `5`",
        ),
        (
            "children = [",
            "allocate = 5\nchildren = [",
            "x.toml:15:12: device.volume.allocate: expected one of its choices, as text in quotes, found `5`",
        ),
        (
            "\"greedy\"",
            "true",
            "x.toml:7:23: device.flash.cleaning.victim: expected a name, or a table with `kind` and parameters, found \
            `true`",
        ),
        (
            "kind = \"hybrid\"",
            "kind = \"hybird\"",
            "x.toml:14:8: device.volume.kind: `hybird` is no kind of device; did you mean `hybrid`?",
        ),
        (
            "\"samsung-k9xxg08-slc-32g\"",
            "\"samsung-k9xxg08-slc-32\"",
            "x.toml:6:10: device.flash.preset: `samsung-k9xxg08-slc-32` is no preset; did you mean \
            `samsung-k9xxg08-slc-32g`?",
        ),
        (
            "kind = \"hdd\"",
            "kind = \"ssd\"",
            "x.toml:11:10: device.disk.preset: `ibm-ultrastar-36z15` is a preset of the kind `hdd`, not of `ssd`",
        ),
        (
            "static-split",
            "static-slip",
            "x.toml:16:19: device.volume.policy.kind: `static-slip` is no policy; did you mean `static-split`?",
        ),
        ("static-split", "quickest", "x.toml:16:19: device.volume.policy.kind: `quickest` is no policy"),
        ("[1, 1]", "[1, 1, 1]", "x.toml:16:45: device.volume.policy.weights: `weights` has 3 entries for 2 devices"),
        (
            "= \"station\"",
            "= \"sation\"",
            "x.toml:24:1: run.target: `sation` is no device of this experiment; did you mean `station`?",
        ),
        ("[workload]", "[workload", "x.toml:2:10: this is not TOML: unclosed table, expected `]`"),
    ]);
}

/// Tables whose `kind` decides their other keys, nested lists, and keys of policies: the position is that of the key or
/// value, however deep it is.
#[test]
fn places_within_tables_that_have_a_kind() {
    const SYNTHETIC: &str = "synthetic = { requests = 10, size = \"4KiB\" }";
    let with = |rest: &str| format!("synthetic = {{ requests = 10, {rest} }}");
    let synthetic = |rest: &str, expected: &str| (SYNTHETIC.to_string(), with(rest), expected.to_string());
    let cases = [
        synthetic(
            "arrivals = { rate = \"5 \", kind = \"poisson\" }",
            "x.toml:3:50: workload.synthetic.arrivals.rate: `5 ` needs a unit: /us, /ms, /s, /min or /h",
        ),
        synthetic(
            "arrivals = { kind = \"poisson\", rte = \"5/s\" }",
            "x.toml:3:61: workload.synthetic.arrivals.rte: unknown key; did you mean `rate`?",
        ),
        synthetic(
            "arrivals = { kind = \"poison\", rate = \"5/s\" }",
            "x.toml:3:50: workload.synthetic.arrivals.kind: `poison` is not one of the choices; did you mean \
             `poisson`?",
        ),
        synthetic(
            "arrivals = { kind = \"bursty\", rate = \"5/s\", on = \"5/s\", off = \"1s\" }",
            "x.toml:3:79: workload.synthetic.arrivals.on: `5/s` has the unknown unit `/s`: use ns, µs (or us), ms, s, \
             min, h, d or y (365 days)",
        ),
        synthetic("arrivals = { rate = \"5/s\" }", "x.toml:3:41: workload.synthetic.arrivals: `kind` is missing"),
        synthetic(
            "address = { kind = \"zipf\", exponent = \"one\" }",
            "x.toml:3:68: workload.synthetic.address.exponent: expected a number, found the text \"one\"",
        ),
        synthetic("address = \"zipf\"", "x.toml:3:40: workload.synthetic.address: `exponent` is missing"),
        synthetic(
            "size = [{ size = \"4KiB\", weight = 1 }, { size = \"8KiB\", weight = -1 }]",
            "x.toml:3:95: workload.synthetic.size[1].weight: expected a whole number that is zero or more, found `-1`",
        ),
        (
            "[1, 1]".to_string(),
            "[1, \"1\"]".to_string(),
            "x.toml:16:49: device.volume.policy.weights[1]: expected a whole number that is zero or more, found the \
             text \"1\""
                .to_string(),
        ),
        (
            "victim = \"greedy\"".to_string(),
            "victim = { kind = \"greedy\", deep = [1] }".to_string(),
            "x.toml:7:49: device.flash.cleaning.victim.deep: expected true or false, a number, or text in quotes"
                .to_string(),
        ),
        (
            "victim = \"greedy\"".to_string(),
            "victim = { kind = \"d-choices\", e = 1 }".to_string(),
            "x.toml:7:45: device.flash.cleaning.victim.e: `cleaning.victim` of kind `d-choices` has no parameter `e`; \
             it has d"
                .to_string(),
        ),
        (
            "cleaning = {".to_string(),
            "array = { gang = \"synchronous\", gang_control = \"commands\" }\ncleaning = {".to_string(),
            "x.toml:7:33: device.flash.array.gang_control: `array.gang_control` = \"commands\" and `array.gang` = \
             \"synchronous\" exclude each other: packages that share no control lines alone do not hold them"
                .to_string(),
        ),
    ];
    let mut differences = String::new();
    for (from, to, expected) in cases {
        let text = GOOD.replacen(&from, &to, 1).replace("target = \"station\"", "target = \"flash\"");
        let found = message_of(&text);
        if found != expected {
            differences += &format!("expected {expected}\n   found {found}\n");
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

/// Values that are valid alone but not together, in the devices' own messages.
#[test]
fn devices_that_cannot_be_built() {
    check(&[
        (
            "\"1ms\"",
            "\"0s\"",
            "x.toml:20:1: device.station.service_time: `service_time` is zero; a request takes at least 1ns",
        ),
        (
            "capacity = \"4GiB\"",
            "capacity = \"4GiB\"\nservers = 8\nqueue_depth = 4",
            "x.toml:23:1: device.station.queue_depth: `queue_depth` is 4, less than its 8 servers, so some could never \
            work",
        ),
        (
            "capacity = \"4GiB\"",
            "capacity = \"100B\"",
            "x.toml:21:1: device.station.capacity: `capacity` is 100B, less than one sector of 512B",
        ),
    ]);
}

#[test]
fn run_settings() {
    check(&[
        (
            "target = \"station\"",
            "target = \"station\"\nseries = \"0s\"",
            "x.toml:25:1: run.series: an interval is longer than 0s",
        ),
        (
            "target = \"station\"",
            "target = \"station\"\nseed = -1",
            "x.toml:25:8: run.seed: expected a whole number that is zero or more, found `-1`",
        ),
    ]);
}

/// Mistakes in devices that are made of other devices.
#[test]
fn trees() {
    let with = |tables: &str, target: &str| {
        message_of(&(GOOD.replace("target = \"station\"", &format!("target = \"{target}\"")) + tables))
    };
    let array = |name: &str, rest: &str| format!("[device.{name}]\nkind = \"array\"\nlevel = \"0\"\n{rest}\n");
    let cases = [
        (
            with(&array("raid", "children = [\"station\", \"dusk\"]"), "raid"),
            "x.toml:28:24: device.raid.children[1]: `dusk` is no device of this experiment; did you mean `disk`?",
        ),
        (
            with(&array("raid", "children = [\"station\", \"disk\"]"), "raid"),
            "x.toml:15:22: device.volume.children[1]: `disk` is already a child of `raid`; a device has one parent",
        ),
        (
            with(&(array("a", "children = [\"b\"]") + &array("b", "child = \"a\"\ncount = 2")), "a"),
            "x.toml:25:9: device.a: it contains itself: a -> b -> a",
        ),
        (with(&array("a", "children = [\"a\"]"), "a"), "x.toml:25:9: device.a: it contains itself: a -> a"),
        (
            with(&array("raid", "child = \"station\"\ncount = 1000000"), "raid"),
            "x.toml:18:9: device.station: the tree has more than 10000 devices",
        ),
        (
            with(&array("raid", "child = \"station\""), "raid"),
            "x.toml:28:1: device.raid.child: `child` needs a `count`",
        ),
        (
            with(&array("raid", "child = \"station\"\ncount = 2\nstripe = \"1000B\""), "raid"),
            "x.toml:30:1: device.raid.stripe: `stripe` is 1kB; it has to be whole sectors of 512B",
        ),
        (
            with(&array("raid", "child = \"station\"\ncount = 2\nstripe = \"1TiB\""), "raid"),
            "x.toml:30:1: device.raid.stripe: `stripe` is 1TiB, more than its smallest child's 4GiB",
        ),
        (
            with(
                &array("raid", "child = \"station\"\ncount = 2\nlevel = \"5\"").replace("level = \"0\"\n", ""),
                "raid",
            ),
            "x.toml:29:9: device.raid.level: there is no array of level `5`: the one level is \"0\", stripes only",
        ),
        (with("", "nothing"), "x.toml:24:1: run.target: `nothing` is no device of this experiment"),
        (
            with("[device.\"a b\"]\nkind = \"constant\"\n", "station"),
            "x.toml:25:9: device.a b: a device's name is made of letters, digits, `-` and `_`",
        ),
    ];
    let mut differences = String::new();
    for (found, expected) in cases {
        if found != expected {
            differences += &format!("expected {expected}\n   found {found}\n");
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

#[test]
fn workloads() {
    let synthetic = "synthetic = { requests = 10, size = \"4KiB\" }";
    check(&[
        (synthetic, "", "x.toml:2:2: workload: it needs a `trace` or a `synthetic` workload"),
        (
            synthetic,
            "synthetic = { requests = 10 }\ntrace = \"a.spc\"",
            "x.toml:3:1: workload.synthetic: it excludes `trace`; give one of them",
        ),
        (
            synthetic,
            "synthetic = { requests = 10, footprint = \"5GiB\" }",
            "x.toml:3:1: workload.synthetic: a footprint of 5GiB does not fit into 4GiB (target `station`)",
        ),
        (synthetic, "trace = 5", "x.toml:3:9: workload.trace: expected a file name or a list of them"),
        (synthetic, "trace = []", "x.toml:3:1: workload.trace: it names no file"),
        (
            synthetic,
            "trace = [\"a.spc\", \"b.spc\"]",
            "a.spc: cannot be opened: No such file or directory (os error 2)",
        ),
        (synthetic, "trace = \"nowhere.spc\"", "nowhere.spc: cannot be opened: No such file or directory (os error 2)"),
        (
            synthetic,
            "synthetic = { requests = 10 }\nqueue_depth = 0",
            "x.toml:4:15: workload.queue_depth: expected a whole number that is one or more, found `0`",
        ),
        (
            synthetic,
            "synthetic = { requests = 10 }\nqueue_depth = 4\ntime_scale = 2",
            "x.toml:5:1: workload.time_scale: it means nothing in a closed loop, and `queue_depth` asks for one",
        ),
        (
            synthetic,
            "synthetic = { requests = 10, address = \"unifrom\" }",
            "x.toml:3:40: workload.synthetic.address: `unifrom` is not one of the choices; did you mean `uniform`?",
        ),
    ]);
}

#[test]
fn traces_beyond_the_capacity() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.spc");
    std::fs::write(&trace, "0,0,4096,r,0.0\n0,16777216,8192,w,0.5\n0,8,4096,w,1.0\n").unwrap();
    let text =
        GOOD.replace("synthetic = { requests = 10, size = \"4KiB\" }", &format!("trace = \"{}\"", trace.display()));
    let found = message_of(&text);
    let expected = "x.toml:2:2: workload.beyond_capacity: the workload reaches up to byte 8589942784, but the target \
                    ends at 4294967296 (target `station`)";
    assert_eq!(found, expected);
    for (beyond, requests) in [("wrap", 3), ("clip", 2), ("dense", 3)] {
        let text = text.replace("[workload]", &format!("[workload]\nbeyond_capacity = \"{beyond}\""));
        let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
        assert_eq!(results.workload.requests, requests, "{beyond}");
        assert_eq!(results.requests.errors, 0);
    }
}

#[test]
fn sweeps() {
    let sweep = |lines: &str| message_of(&format!("{GOOD}\n[sweep]\n{lines}\n"));
    let cases = [
        (
            sweep("\"device.sation.servers\" = [1]"),
            "x.toml:27:1: device.sation.servers: `sation` is no device of this experiment; did you mean `station`?",
        ),
        (sweep("\"rum.seed\" = [1]"), "x.toml:27:1: rum.seed: `rum` is no table of an experiment; did you mean `run`?"),
        (
            sweep("\"device.station.servers\" = []"),
            "x.toml:27:28: sweep.device.station.servers: the list is empty; give at least one value",
        ),
        (
            sweep("\"device.station.servers\" = 3"),
            "x.toml:27:28: sweep.device.station.servers: expected a list of values, found a number",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    let point = |line: &str| {
        let experiment = Experiment::from_str(&format!("{GOOD}\n[sweep]\n{line}\n"), "x.toml").unwrap();
        experiment.point(&[0]).unwrap_err().to_string()
    };
    // The position of a mistake is where it was written: in the sweep.
    assert_eq!(
        point("\"device.station.severs\" = [1]"),
        "x.toml:27:1: device.station.severs: unknown key; did you mean `servers`?"
    );
    assert_eq!(
        point("\"device.station.capacity\" = [\"4\"]"),
        "x.toml:27:30: device.station.capacity: `4` needs a unit: B, kB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, \
         GiB, TiB, PiB (powers of 1024)"
    );
    assert_eq!(point("\"run.target.name\" = [1]"), "x.toml:27:1: run.target.name: `name` cannot be set in a string");
}

/// Hints next to messages.
#[test]
fn hints() {
    let hint = |from: &str, to: &str| {
        let error = Experiment::from_str(&GOOD.replacen(from, to, 1), "x.toml").unwrap_err();
        error.hint().unwrap_or_default()
    };
    assert_eq!(
        hint("service_time", "time"),
        "its table knows: service_time, service, servers, capacity, queue_depth, kind, preset, precondition, \
         utilisation"
    );
    let kinds: Vec<&str> = registry::names(DEVICE_KINDS).collect();
    assert_eq!(hint("kind = \"constant\"", ""), format!("name a `preset`, or one of the kinds: {}", kinds.join(", ")));
    let presets = hint("preset = \"ibm-ultrastar-36z15\"", "");
    assert!(presets.starts_with("name a preset, which gives all of them: ibm-ultrastar-36z15, "), "{presets}");
    let policies: Vec<&str> = registry::names(&HYBRID_POLICIES).collect();
    assert_eq!(hint("static-split", "quickest"), format!("there is: {}", policies.join(", ")));
    let presets = hint("\"ibm-ultrastar-36z15\"", "\"unheard-of\"");
    assert!(presets.starts_with("there is: ibm-ultrastar-36z15, "), "{presets}");
}

/// Any text is read or refused, without a panic.
mod any_text {
    use proptest::prelude::*;

    use super::*;

    fn pieces() -> impl Strategy<Value = String> {
        let line = prop::sample::select(GOOD.lines().collect::<Vec<_>>()).prop_map(str::to_string);
        let odd = prop::sample::select(vec![
            "x = 0x1F",
            "x = inf",
            "x = 1979-05-27T07:32:00Z",
            "[device]",
            "[[device]]",
            "device = 3",
            "[sweep]",
            "\"run.seed\" = [1, {}, []]",
            "seed = -1",
            "capacity = \"999999999999TiB\"",
            "servers = 4294967296",
            "weights = [4294967295, 4294967295]",
            "children = []",
            "\"\" = 1",
            "kind = 5",
            "preset = []",
            "\u{0}",
            "é = \"ü\"",
        ]);
        prop_oneof![4 => line, 1 => odd.prop_map(str::to_string)]
    }

    /// Returns true if the dotted `key`, or the table around it, is in `document`. Keys of the sweep are keys of other
    /// tables.
    fn stands_in(key: &str, document: &toml::Value) -> bool {
        let mut steps: Vec<&str> = key.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect();
        if key.is_empty() || document.get("sweep").is_some() {
            return true;
        }
        steps.pop();
        let mut value = document;
        steps.into_iter().all(|step| {
            let next = value.get(step).or_else(|| value.get(step.parse::<usize>().ok()?));
            next.inspect(|next| value = next).is_some()
        })
    }

    proptest! {
        #[test]
        fn lines_in_any_order(lines in prop::collection::vec(pieces(), 0..30)) {
            if let Ok(experiment) = Experiment::from_str(&lines.join("\n"), "x.toml") {
                let _ = experiment.resolved();
            }
        }

        /// The key of an error is in the file, or its table is.
        #[test]
        fn errors_are_about_keys_that_are_there(
            changes in prop::collection::vec((0usize..GOOD.len(), "[a-z0-9\"\\[\\]{}=., \n]"), 1..4),
            lines in prop::collection::vec(pieces(), 0..3),
        ) {
            let mut text = GOOD.to_string();
            for (at, with) in changes {
                text.replace_range(at..at + 1, &with);
            }
            let text = format!("{}\n{text}", lines.join("\n"));
            let found = Experiment::from_str(&text, "x.toml").and_then(|experiment| experiment.assemble().map(drop));
            if let (Err(error), Ok(table)) = (found, text.parse::<toml::Table>()) {
                prop_assert!(stands_in(&error.key, &table.into()), "{error}\n{text}");
            }
        }

        #[test]
        fn with_characters_changed(
            changes in prop::collection::vec((0usize..GOOD.len(), "[a-z0-9\"\\[\\]{}=., \n]"), 1..5),
        ) {
            let mut text = GOOD.to_string();
            for (at, with) in changes {
                text.replace_range(at..at + 1, &with);
            }
            if let Err(error) = Experiment::from_str(&text, "x.toml") {
                prop_assert!(error.position.is_some() && !error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

#[test]
fn raid_levels_are_understood_as_they_are_written_and_other_levels_are_refused() {
    let array = |level: &str| {
        let array =
            format!("[device.array]\nkind = \"array\"\nlevel = {level}\nchild = \"station\"\ncount = 2\n\n[run]");
        GOOD.replace("[run]", &array).replace("target = \"station\"", "target = \"array\"")
    };
    for level in ["0", "\"0\"", "\"raid0\"", "\"RAID-0\""] {
        assert!(Experiment::from_str(&array(level), "x.toml").is_ok(), "{level}");
    }
    for level in ["5", "\"5\"", "\"RAID-5\""] {
        let expected = format!(
            "x.toml:25:9: device.array.level: there is no array of level `{}`: the one level is \"0\", stripes only",
            level.trim_matches('"')
        );
        assert_eq!(message_of(&array(level)), expected);
    }
}

#[test]
fn a_misspelt_preset_is_among_the_keys_that_are_known() {
    let text = GOOD.replace("preset = \"ibm", "presents = \"ibm");
    let error = Experiment::from_str(&text, "x.toml").unwrap_err();
    let hint = error.hint().unwrap();
    assert!(hint.contains("rotation_speed") && hint.contains("preset") && hint.contains("precondition"), "{hint}");
}

#[test]
fn a_trace_that_is_named_twice() {
    let text =
        GOOD.replace("synthetic = { requests = 10, size = \"4KiB\" }", "trace = [\"a.csv\", \"b.csv\", \"a.csv\"]");
    assert_eq!(message_of(&text), "x.toml:3:1: workload.trace: it names `a.csv` twice");
}
