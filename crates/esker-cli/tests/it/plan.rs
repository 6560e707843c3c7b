//! `esker plan` from end to end.

use serde_json::Value;

use crate::support::{esker_in, esker_ok, folder_with_trace};

const ONLY: [&str; 2] = ["--only", "micron-5400-pro,toshiba-mg10"];

fn planned(folder: &std::path::Path, more: &[&str]) -> Value {
    let all = [&["plan", "small.csv", "--json", "-q", "--capacity", "30TB"], &ONLY[..], more].concat();
    serde_json::from_str(&esker_ok(folder, &all).stdout).expect("it is JSON")
}

#[test]
fn the_same_bytes_on_any_number_of_threads_and_by_the_schema() {
    let folder = folder_with_trace(3_000);
    let one = planned(folder.path(), &["--threads", "1"]);
    assert_eq!(one, planned(folder.path(), &["--threads", "2"]));
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "plan"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &one) {
        panic!("the plan does not keep its schema: {error}");
    }
    let plan = &one["plans"][0]["plan"];
    assert_eq!(plan["verified"]["keeps_budgets"], true, "{}", one["plans"][0]["rounds"]);
    let kinds: Vec<&str> =
        plan["devices"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ssd", "hdd"], "30 TB ask for disks, and requests for flash");
}

/// What `-o` writes is the experiment that was simulated, with the same figures as `--json`.
#[test]
fn the_experiment_of_a_plan_repeats_its_simulation() {
    let folder = folder_with_trace(3_000);
    let json = planned(folder.path(), &["-o", "plan"]);
    let design = &json["plans"][0]["plan"]["verified"]["design"];
    let read = |name: &str| std::fs::read_to_string(folder.path().join("plan").join(name)).unwrap();
    let entries = std::fs::read_dir(folder.path().join("plan")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    // All that is asked for is on flash: the experiment has no mix.
    assert_eq!(names, ["README.txt", "experiment.toml", "plan.json", "volume.map"]);
    assert_eq!(serde_json::from_str::<Value>(&read("plan.json")).unwrap(), json);
    let (experiment, readme) = (read("experiment.toml"), read("README.txt"));
    let is_whole = experiment.starts_with("# A plan of esker") && experiment.contains("trace = \"../small.csv\"");
    assert!(is_whole, "{experiment}");
    assert!(names.iter().all(|name| *name == "README.txt" || readme.contains(name)), "{readme}");
    let again = esker_ok(folder.path(), &["sim", "plan/experiment.toml", "--json"]).stdout;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(design["requests"], again["requests"]);
    assert_eq!(design["config"]["device"], again["config"]["device"]);
}

/// Of a trace of several volumes, each has a map in its own addresses, which are those of the experiment in order.
#[test]
fn the_maps_of_volumes_put_each_range_where_the_experiment_has_it() {
    let folder = folder_with_trace(3_000);
    // A second volume is written from end to end, more than a small drive may take every day.
    let mut text = std::fs::read_to_string(folder.path().join("small.csv")).unwrap();
    let first: u64 = text.split(',').next().unwrap().parse().unwrap();
    for number in 0..400 {
        let (at, offset) = (first + number * 150_000, (1 << 33) + (number << 20));
        text += &format!("{at},ho/st,3,Write,{offset},1048576,50000\n");
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    std::fs::write(folder.path().join("small.csv"), lines.join("\n") + "\n").unwrap();
    let json = planned(folder.path(), &["-o", "plan"]);
    let simulated = &json["plans"][0]["plan"]["verified"]["design"]["config"]["device"];
    let again = esker_ok(folder.path(), &["sim", "plan/experiment.toml", "--json"]).stdout;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(*simulated, again["config"]["device"], "the file has the ranges of the simulated plan");
    let ranges = |name: &str| -> Vec<(u64, u64, String)> {
        let text = std::fs::read_to_string(folder.path().join("plan").join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let fields = lines.map(|line| line.split(',').map(str::to_string).collect::<Vec<String>>());
        fields.map(|line| (line[0].parse().unwrap(), line[1].parse().unwrap(), line[2].clone())).collect()
    };
    let areas = |ranges: Vec<(u64, u64, String)>| -> Vec<(u64, String)> {
        let each = |(start, length, device): (u64, u64, String)| {
            (start >> 20..(start + length) >> 20).map(move |area| (area, device.clone()))
        };
        ranges.into_iter().flat_map(each).collect()
    };
    // Volumes are counted in the order in which they come up in the trace.
    let volumes = ["ho-st.3.map", "host.0.map"].map(|name| areas(ranges(name)));
    assert!(volumes.iter().all(|volume| volume.is_sorted() && volume[0].0 >= 1 << 13), "addresses begin at 8 GiB");
    let of_volumes: Vec<String> = volumes.into_iter().flatten().map(|(_, device)| device).collect();
    let of_experiment: Vec<String> = areas(ranges("plan.map")).into_iter().map(|(_, device)| device).collect();
    assert_eq!(of_volumes, of_experiment);
    assert!(of_experiment.iter().any(|device| *device != of_experiment[0]), "{of_experiment:?}");
    let readme = std::fs::read_to_string(folder.path().join("plan/README.txt")).unwrap();
    assert!(readme.contains("esker volume create ho-st.3.volume --device disk"), "{readme}");
    makes_volumes_of_partitions(&folder.path().join("plan"), &readme);
}

/// The commands as they stand, on files as large as is said in place of partitions.
fn makes_volumes_of_partitions(plan: &std::path::Path, readme: &str) {
    let lines: Vec<&str> = readme.lines().collect();
    let commands = lines.windows(2).filter(|pair| pair[0].contains("esker volume create"));
    let mut files = std::collections::BTreeSet::new();
    for pair in commands {
        let (command, sizes) = (pair[0], pair[1].trim().trim_start_matches("# "));
        let mut command = command.replace("=/dev/", "=");
        for (file, size) in sizes.split(", ").map(|one| one.split_once(" of ").unwrap()) {
            let file = file.trim_start_matches("/dev/");
            command = command.replace(&format!("={file} "), &format!("={file},{size} "));
            assert!(files.insert(file.to_string()), "{file} belongs to another volume: {readme}");
        }
        esker_ok(plan, &command.split_whitespace().skip(1).collect::<Vec<&str>>());
    }
    let of_second = files.iter().filter(|file| file.ends_with("p2")).count();
    assert!(of_second > 1 && files.len() == 2 * of_second, "{files:?}");
    for (volume, end_gib) in [("ho-st.3.volume", 8.39), ("host.0.volume", 8.0)] {
        let checked = esker_ok(plan, &["volume", "check", volume]).stdout;
        let size = checked.lines().find_map(|line| line.split_once(": hybrid of ")).unwrap().1;
        let gib: f64 = size.strip_suffix(" GiB").unwrap_or_else(|| panic!("{checked}")).parse().unwrap();
        assert!(gib >= end_gib, "{checked}");
    }
}

/// A folder that holds anything is refused before the work, and stays as it was.
#[test]
fn a_plan_goes_to_a_new_folder_alone() {
    let folder = folder_with_trace(10);
    let path = folder.path();
    std::fs::create_dir(path.join("there")).unwrap();
    std::fs::write(path.join("there/notes"), "mine").unwrap();
    for (out, why) in [
        ("there", "there is there already, and is not empty"),
        ("small.csv", "`-o small.csv` would replace the input"),
        ("there/notes", "there/notes is there already, and is no folder"),
        ("-", "they do not go to standard output"),
    ] {
        let all = [&["plan", "small.csv", "-o", out, "--json=plan.json", "--force"], &ONLY[..]].concat();
        let refused = esker_in(path, &all);
        assert!(refused.code == 2 && refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read_to_string(path.join("there/notes")).unwrap(), "mine");
    // Where there is no plan, no folder is left.
    let none = ["plan", "small.csv", "-q", "--capacity", "60TB", "--devices", "1", "-o", "none"];
    assert!(esker_ok(path, &[&none[..], &ONLY[..]].concat()).stdout.contains("There is no plan"));
    assert!(!path.join("none").exists());
}

#[test]
fn what_clashes_is_said_with_what_helps() {
    let folder = folder_with_trace(3_000);
    let command = [&["plan", "small.csv", "-q", "--capacity", "60TB", "--devices", "1"], &ONLY[..]].concat();
    let said = esker_ok(folder.path(), &command).stdout;
    assert!(said.contains("There is no plan") && said.contains("number of devices from 1 to"), "{said}");
    let required = esker_in(folder.path(), &[&command[..], &["--require"]].concat());
    assert_eq!(required.code, 3, "{}", required.stderr);
    let several = [&["plan", "small.csv", "other.csv", "-o", "plan"], &ONLY[..]].concat();
    let refused = esker_in(folder.path(), &several);
    assert!(refused.code != 0 && refused.stderr.contains("--together"), "{}", refused.stderr);
}

/// A response time that no device has is a clash as any other: the other workload has its plan, and a study with a plan
/// its page.
#[test]
fn a_response_time_that_nothing_keeps_leaves_the_other_workloads_their_plans() {
    let folder = folder_with_trace(3_000);
    let path = folder.path();
    // A request a second, none of which had to be fast.
    let second = |number: u64| 128_166_372_000_000_000 + number * 10_000_000;
    let slow = (0..200).map(|number| format!("{},host,0,Read,{},4096,900000\n", second(number), number << 20));
    std::fs::write(path.join("slow.csv"), slow.collect::<String>()).unwrap();
    let only = ["--only", "toshiba-mg10", "-q", "--json"];
    let required = esker_in(path, &[&["plan", "small.csv", "slow.csv", "--require"], &only[..]].concat());
    assert_eq!(required.code, 3, "{}", required.stderr);
    let json: Value = serde_json::from_str(&required.stdout).unwrap();
    let why = &json["plans"][0]["no_plan"];
    assert_eq!(why["clash"], serde_json::json!(["response time"]), "{why}");
    assert!(why["remedies"][0]["text"].as_str().unwrap().starts_with("response time from "), "{why}");
    assert_eq!(json["plans"][1]["plan"]["verified"]["keeps_budgets"], true, "{}", json["plans"][1]);
    esker_ok(path, &[&["study", "small.csv", "--plan", "-o", "page.html"], &only[..]].concat());
    let page = std::fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.contains("is allowed on no type of device: response time forbids it"));
}

/// The page has what the terminal has, and the picture.
#[test]
fn the_page_of_a_plan_says_what_the_terminal_says() {
    let folder = folder_with_trace(3_000);
    let all =
        ["plan", "small.csv", "-q", "--capacity", "30TB", "--report", "plan.html", "--have", "2xtoshiba-mg10:20TB"];
    let printed = esker_ok(folder.path(), &[&all[..], &ONLY[..]].concat()).stdout;
    let page = std::fs::read_to_string(folder.path().join("plan.html")).unwrap();
    for text in ["Which mix of devices is the cheapest", "Where the requests go", "never asked for", "2 times the load"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("The way from the devices in use") && printed.contains("From the devices in use"));
    assert!(printed.contains("2 times the load") && printed.contains("times the price of disks"), "{printed}");
}

/// A study has the same plan as `esker plan`, and its JSON keeps the schema.
#[test]
fn a_study_has_the_plan_too() {
    let folder = folder_with_trace(3_000);
    let all = [&["study", "small.csv", "--json", "-q", "--capacity", "30TB", "--plan", "-o", "report.html"], &ONLY[..]];
    let study: Value = serde_json::from_str(&esker_ok(folder.path(), &all.concat()).stdout).unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "study"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &study) {
        panic!("the study does not keep its schema: {error}");
    }
    assert_eq!(study["workloads"][0]["plan"], planned(folder.path(), &[])["plans"][0]);
    let assumptions: Vec<&str> =
        study["assumptions"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(assumptions.iter().any(|text| text.starts_with("A plan places data by records")), "{assumptions:?}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("Which mix of devices is the cheapest") && page.contains("href=\"#w1-plan\""));
}

/// The cheapest hybrid beside a plan is the one that a study finds.
#[test]
fn designs_of_a_study_stand_beside_a_plan() {
    let folder = folder_with_trace(3_000);
    let report = planned(folder.path(), &["--hybrids", "--caches", "--report", "plan.html"]);
    let beside = report["plans"][0]["plan"]["beside"].as_array().unwrap();
    assert_eq!(beside.iter().map(|one| one["sort"].as_str().unwrap()).collect::<Vec<_>>(), ["one hybrid", "one cache"]);
    let all = [&["study", "small.csv", "--json", "-q", "--capacity", "30TB", "--hybrids"], &ONLY[..]].concat();
    let study: Value = serde_json::from_str(&esker_ok(folder.path(), &all).stdout).unwrap();
    let hybrids = study["workloads"][0]["candidates"].as_array().unwrap().iter();
    let kept = hybrids.filter(|one| one["kind"] == "hybrid" && one["judgement"]["keeps_budgets"] == true);
    // Flash whose life cannot be told does not win over flash that is known to last.
    let known = kept.filter(|one| one["endurance"]["kept"] == true);
    let costs = known.map(|one| one["cost"]["total"].as_f64().unwrap());
    assert_eq!(beside[0]["cost"].as_f64(), costs.reduce(f64::min), "{beside:?}");
    assert!(beside[0]["cost"].as_f64().is_some(), "{beside:?}");
    let page = std::fs::read_to_string(folder.path().join("plan.html")).unwrap();
    assert!(page.contains("Simulated, as in a study: one hybrid for") && page.contains("one cache"), "it is drawn");
    assert!(report["command"].as_str().unwrap().contains("--hybrids --caches"));
}

#[test]
fn classes_constraints_and_power_are_settings() {
    let folder = folder_with_trace(3_000);
    let merged = planned(folder.path(), &["--classes", "merged", "--constraints", "paper", "--power", "1000W"]);
    let plan = &merged["plans"][0]["plan"];
    let limits: Vec<&str> =
        plan["constraints"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(limits.contains(&"power") && limits.iter().any(|name| name.ends_with("time of each class")), "{limits:?}");
    assert!(merged["command"].as_str().unwrap().contains("--classes merged --constraints paper --power 1000W"));
    let refused = esker_in(folder.path(), &["plan", "small.csv", "--power", "300"]);
    assert!(refused.code == 2 && refused.stderr.contains("write 300W"), "{}", refused.stderr);
}

/// The command of the folder makes a volume, on files in place of disks; the requests of the trace then lie where the
/// experiment has them. The folder is enough to draw the page again.
#[test]
fn a_volume_follows_the_plan_and_the_page_is_drawn_from_its_folder() {
    let folder = folder_with_trace(3_000);
    let path = folder.path();
    planned(path, &["-o", "plan", "--report", "plan.html"]);
    esker_ok(path, &["report", "plan", "-o", "again.html", "-q"]);
    let page = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(page("plan.html"), page("again.html"));
    esker_ok(path, &["report", "plan/plan.json", "-o", "third.html", "-q"]);
    assert_eq!(page("plan.html"), page("third.html"));
    let refused = esker_in(path, &["report", "plan/plan.json", "-o", "fourth.html", "--csv", "tables"]);
    assert!(refused.code == 2 && refused.stderr.contains("is a plan of `esker plan`"), "{}", refused.stderr);

    let plan = path.join("plan");
    let names = create_volume(&plan);
    esker_ok(&plan, &["volume", "replay", "volume.volume", "../small.csv", "--depth", "8", "--overwrite", "-q"]);
    let devices = devices_of_extents(&plan, &names);
    assert!(devices.len() > 50, "{devices:?}");
}

/// A served volume over the mix of devices of a plan puts what clients write where the plan says.
#[test]
fn a_served_volume_follows_the_plan_on_all_its_devices() {
    let folder = folder_with_trace(3_000);
    let path = folder.path();
    // Beside what is hot, a region is written once, from end to end.
    let mut text = std::fs::read_to_string(path.join("small.csv")).unwrap();
    let first: u64 = text.split(',').next().unwrap().parse().unwrap();
    for number in 0..400 {
        let (at, offset) = (first + number * 150_000, (1 << 33) + (128 << 20) + (number << 20));
        text += &format!("{at},host,0,Write,{offset},1048576,50000\n");
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    std::fs::write(path.join("small.csv"), lines.join("\n") + "\n").unwrap();
    planned(path, &["-o", "plan"]);
    let plan = path.join("plan");
    let names = create_volume(&plan);
    let replay = "volume replay \"$uri\" ../small.csv --depth 8 --overwrite -q";
    let client = format!("'{}' {replay}", env!("CARGO_BIN_EXE_esker"));
    esker_ok(&plan, &["volume", "serve", "volume.volume", "-q", "--run", &client]);
    let devices = devices_of_extents(&plan, &names);
    let used: std::collections::BTreeSet<&String> = devices.iter().collect();
    assert!(devices.len() > 400 && used.len() >= 2, "{} extents on {used:?}", devices.len());
}

/// Makes the volume of a plan's folder by the command there, on files in place of disks. Returns their names.
fn create_volume(plan: &std::path::Path) -> Vec<String> {
    let readme = std::fs::read_to_string(plan.join("README.txt")).unwrap();
    let line = readme.lines().find(|line| line.contains("esker volume create")).unwrap();
    let words = line.split_whitespace().skip(1).map(str::to_string);
    let mut names = Vec::new();
    let words: Vec<String> = words
        .map(|word| match word.split_once("=/dev/") {
            Some((name, _)) => {
                names.push(name.to_string());
                format!("{name}={name}.img,9GiB")
            }
            None => word,
        })
        .collect();
    esker_ok(plan, &words.iter().map(String::as_str).collect::<Vec<&str>>());
    names
}

/// The devices of all extents that a plan's volume has, each of which has to be that of its map.
fn devices_of_extents(plan: &std::path::Path, names: &[String]) -> Vec<String> {
    let dumped = esker_ok(plan, &["volume", "dump", "volume.volume", "--only", "map,journal"]).stdout;
    let map = std::fs::read_to_string(plan.join("volume.map")).unwrap();
    let belongs = |extent: u64| {
        let holds = |line: &&str| {
            let fields: Vec<&str> = line.split(',').collect();
            let (start, length): (u64, u64) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
            (start..start + length).contains(&(extent << 20))
        };
        let mut lines = map.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        lines.find(holds).map(|line| line.rsplit(',').next().unwrap().to_string())
    };
    let mut devices = Vec::new();
    for line in dumped.lines().filter(|line| line.contains(" got extent ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "got").unwrap();
        let (extent, device): (u64, usize) =
            (words[at - 1].parse().unwrap(), words[at + 5].trim_end_matches(';').parse().unwrap());
        assert_eq!(belongs(extent), Some(names[device].clone()), "{line}");
        devices.push(names[device].clone());
    }
    devices
}
