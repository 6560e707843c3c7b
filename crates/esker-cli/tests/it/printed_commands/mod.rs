//! Runs every command that README, documents, examples and `--help` print, exactly as printed, in a shell, on small
//! files with the printed names. A new command fails here until its files are in `stand_ins`. Commands that would take
//! long are replaced by `INSTEAD`, with the reason.

mod collect;
mod stand_ins;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use collect::Printed;

use crate::support::{Run, esker_ok, run_to_its_end};

/// The printed text, its replacement, and the reason.
const INSTEAD: &[(&str, &str, &str)] = &[
    ("--requests 5000000", "--requests 5000", "the number makes no difference to whether it works"),
    ("--requests 1000000", "--requests 5000", "the number makes no difference to whether it works"),
    ("--transactions 5000", "--transactions 500", "the number makes no difference to whether it works"),
    ("reproduce --all", "reproduce agrawal/traces", "minutes; each item is tested in its crate"),
    ("agrawal/table-3", "agrawal/traces", "seconds; each item is tested in its crate"),
    ("reproduce agrawal --", "reproduce agrawal/traces --", "minutes; each item is tested in its crate"),
    ("kim/figure-3.12", "agrawal/traces", "seconds; each item is tested in its crate"),
    ("kim/table-3.5", "agrawal/traces", "seconds; each item is tested in its crate"),
    ("wu/ch3", "agrawal/traces", "minutes; each item is tested in its crate"),
    ("wu/figure-18", "agrawal/traces", "seconds; each item is tested in its crate"),
    ("wu/ch4", "agrawal/traces", "minutes, and figures of this machine; each item is tested in its crate"),
    ("xia/ch2 xia/ch3", "agrawal/traces", "minutes; each item is tested in its crate"),
    ("xia/ch4", "agrawal/traces", "minutes; each item is tested in its crate"),
    ("xia/ch5", "agrawal/traces", "minutes; each item is tested in its crate"),
    ("xia/little-cleaning", "agrawal/traces", "minutes; each item is tested in its crate"),
    ("tournament/full", "agrawal/traces", "a day"),
    ("reproduce tournament", "reproduce agrawal/traces", "minutes; a small one is tested in its crate"),
    ("xia/section-2.4", "agrawal/traces", "half a minute; each item is tested in its crate"),
    ("examples/cache-ranking.toml", "examples/sweep.toml", "half a minute; a test of esker-sim runs a shorter one"),
    ("cluster calibrate -o", "cluster calibrate --every 90 -o", "a minute; esker-fleet tests parts of it"),
    ("--every 20", "--every 90", "seconds"),
    ("examples/cluster.toml", "examples/sweep.toml", "a quarter of a minute; a test of esker-sim runs it"),
    ("examples/owned-flash.toml", "examples/sweep.toml", "seconds; a test of esker-sim runs it"),
    ("examples/hybrid-policies.toml", "examples/sweep.toml", "seconds; a test of esker-sim runs it"),
    ("examples/mixed-sim.toml", "examples/sweep.toml", "seconds; a test of esker-sim runs it"),
    ("examples/sleeping-disk.toml", "examples/sweep.toml", "a quarter of a minute; a test of esker-sim runs it"),
    ("emulate examples/wu-pair.toml", "emulate wu-pair.toml", "its sockets would lie among the examples"),
    ("examples/wu-pair.toml", "examples/sweep.toml", "half a minute; a test of esker-sim runs a shorter one"),
    (
        "examples/ssd-model.toml -o runs/",
        "examples/sweep.toml -o few/",
        "a minute; a test of esker-repro runs some of it",
    ),
    ("model train runs/", "model train runs.csv", "the stand-ins have no results of enough runs"),
    ("kim-slc runs/", "kim-slc runs.csv", "the stand-ins have no results of enough runs"),
    ("huge.csv.zst --sample 1%", "huge.csv.zst --sample 100%", "few of the stand-in's objects are too few"),
    ("--traces DIR", "--traces traces", "a placeholder"),
    ("esker devices NAME", "esker devices tlc-data-centre", "a placeholder"),
    ("PAPER/ITEM", "agrawal/traces", "a placeholder"),
    ("trace record /dev/sdb --for 60s", "trace convert recorded.blktrace.0", "no test has a disk of its own"),
    ("trace record /dev/sdb", "trace convert recorded.blktrace.0 --anonymise", "no test has a disk of its own"),
    ("measure /dev/sdb", "measure --simulated samsung-sp2504c-250g", "no test has a disk of its own"),
    ("vol1.csv.gz vol2.csv.gz", "day1.csv.gz day2.csv.gz", "studied once is enough"),
    (
        "db.volume --device flash=/dev/nvme0n1p3 --device disk=/dev/sdb",
        "new.volume --device flash=a.img,64MiB --device disk=b.img,64MiB",
        "it has no such disk, and the stand-in for this volume is there already",
    ),
    (
        ".volume --device flash=/dev/sda4 --device disk=/dev/sdb",
        "2.volume --device flash=a.img,64MiB --device disk=b.img,64MiB",
        "it has no such disks",
    ),
    (
        "home.volume --device flash=flash.img,2GiB --device disk=disk.img,10GiB",
        "new.volume --device flash=a.img,2GiB --device disk=b.img,10GiB",
        "the stand-in for this volume is there already",
    ),
    ("mkfs home.pool --size 8GiB", "mkfs new.pool --size 8MiB", "the stand-in for this pool is there already"),
    ("mkfs /dev/shm/scratch.pool --size 1GiB", "mkfs new.pool --size 8MiB", "a test leaves nothing there"),
    ("mkfs /dev/dax0.0 --force", "mkfs home.pool --force", "it has no such device"),
    (
        "fs mount home.pool /mnt/home --mode data --foreground",
        "fs stat home.pool",
        "not everybody may mount; the tests of `esker fs` do",
    ),
    ("fs mount home.pool /mnt/home --populate", "fs stat home.pool", "not everybody may mount"),
    ("fs mount home.pool /mnt/home", "fs stat home.pool", "not everybody may mount; the tests of `esker fs` do"),
    ("fs unmount /mnt/home", "fs check home.pool", "nothing is mounted there"),
    (
        "fs run -- sqlite3 /mnt/home/base.sqlite",
        "fs run --library /dev/null -- true",
        "nothing is mounted there; the tests of the library run it",
    ),
    (
        "fs run -- sh -c 'sort /mnt/home/a >/mnt/home/b'",
        "fs run --library /dev/null -- true",
        "nothing is mounted there; the tests of the library run it",
    ),
    ("fs run -- COMMAND", "fs run --library /dev/null -- true", "a placeholder"),
    ("unix:/run/home.sock", "unix:home.sock", "that folder belongs to root"),
    ("old=backup/home.volume", "old=db.volume", "it has no such folder"),
    ("--listen :10809", "--listen 127.0.0.1:0", "another program may listen there"),
    ("127.0.0.1:10809", "127.0.0.1:0", "another program may listen there"),
    ("127.0.0.1:9810", "127.0.0.1:0", "another program may listen there"),
    ("db.volume --device fast=/dev/nvme1n1", "home.volume --device fast=fast.img,8MiB", "it has no such disk"),
    (
        "volume drain home.volume flash --undo",
        "volume drain home.volume flash && esker volume drain home.volume flash --undo",
        "only a device that is being drained is used again",
    ),
    (
        "esker volume remove-device home.volume flash",
        "esker volume drain home.volume flash && esker volume remove-device home.volume flash",
        "only what was drained is removed",
    ),
    (
        "esker volume remove-device pair.volume b --lost",
        "esker volume create pair.volume --kind cluster --set replicas=2 --set reserve=40% --device a=a,1GiB \
         --device b=b,1GiB --device c=c,1GiB && rm b && esker volume remove-device pair.volume b --lost",
        "it has to be lost first",
    ),
    (
        "esker volume grow home.volume --device disk",
        "truncate -s +8M disk.img && esker volume grow home.volume --device disk",
        "it grows when the disk has grown",
    ),
    (
        "'fast=nbd+unix:///?socket=a.sock' --device slow=nbd://nas",
        "fast=c.img,64MiB --device slow=d.img,64MiB",
        "it has no such servers",
    ),
    (
        "replay nbd://nas/disk oltp.spc.zst",
        "replay home.volume oltp.spc.zst --set beyond_capacity=wrap",
        "it has no such server",
    ),
    ("home.volume day.csv.zst", "home.volume day.csv.zst --set time_scale=0.00001", "it would take a day"),
    ("reproduce kim/ch4", "reproduce kim/ch4 || test $? = 1", "a claim of that chapter is missed"),
    ("-o plan --report", "-o new --report", "a plan is there already"),
    (
        "--device hdd=/dev/md0 --device ssd=/dev/sdc",
        "--device hdd=e.img,64MiB --device ssd=f.img,8MiB",
        "it has no such disks",
    ),
    ("esker plan", "esker plan --only samsung-983-zet,toshiba-mg10", "half a minute with all products"),
    ("--hybrids --caches --plan", "--caches", "two minutes together; each is run alone"),
    ("--hybrids --caches --capacity", "--hybrids --capacity", "half a minute; a test of `plan` runs both"),
    ("40TB --hybrids --caches", "40TB --hybrids", "seconds; each is run alone"),
    ("40TB --caches", "40TB --caches --only micron-7450-pro,toshiba-mg10", "a quarter of a minute with all products"),
    ("40TB --hybrids", "40TB --hybrids --only micron-7450-pro,toshiba-mg10", "a quarter of a minute with all products"),
    ("kim/ch3.5", "agrawal/traces", "a minute; each item is tested in its crate"),
    ("blktrace -d /dev/sdX -o -", "blktrace -d /dev/nvme0n1 -w 3600 -o -", "studied once is enough"),
];

/// Runs a command that takes over from a server.
const TAKES_OVER: &str = "esker volume serve home.volume & old=$!; \
    until test -S home.volume.control; do sleep 0.01; done; \
    COMMAND & new=$!; wait $old && kill -TERM $new && wait $new";

#[test]
fn every_printed_command_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    stand_ins::write(folder.path());
    let printed = collect::all(folder.path());
    let (mut commands, mut shown, mut unused) = (Vec::new(), BTreeSet::new(), BTreeSet::from_iter(0..INSTEAD.len()));
    for mut printed in printed {
        if is_mention(&printed.line) {
            assert_mentions_what_exists(folder.path(), &printed);
            continue;
        }
        assert_items_exist(&printed);
        for (index, (from, to, _)) in INSTEAD.iter().enumerate() {
            if printed.line.contains(from) {
                unused.remove(&index);
                printed.line = printed.line.replace(from, to);
            }
        }
        if printed.line.starts_with("esker volume status ") {
            // It asks the server.
            printed.line = format!("esker volume serve home.volume --quiet --run '{}'", printed.line);
        } else if printed.line.ends_with(" --take-over") {
            // It takes over from a server, and serves until it is asked to end.
            printed.line = TAKES_OVER.replace("COMMAND", &printed.line);
        } else if let Some(operation) = emulate_operation(&printed.line) {
            printed.line = format!("esker emulate atlas10k.toml --quiet --run '{operation}'");
        } else if ["esker volume serve ", "esker emulate "].iter().any(|start| printed.line.starts_with(start))
            && !printed.line.contains("--run")
        {
            // It would serve for ever.
            printed.line += " --run true";
        }
        if shown.insert(printed.line.clone()) {
            commands.push(printed);
        }
    }
    let unused: Vec<&str> = unused.into_iter().map(|index| INSTEAD[index].0).collect();
    assert!(unused.is_empty(), "no command has these any more: {unused:?}");
    assert!(commands.len() > 25, "only {} commands were found", commands.len());
    let faults = run_all(folder.path(), &commands);
    assert!(faults.is_empty(), "printed commands that do not work:\n\n{}", faults.join("\n"));
}

#[test]
fn commands_that_messages_speak_of_exist() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut known = BTreeSet::new();
    for printed in collect::of_sources() {
        if known.insert(printed.line.clone()) {
            assert_mentions_what_exists(folder.path(), &printed);
        }
    }
    assert!(known.len() > 10, "only {} commands were found in the sources", known.len());
}

/// What is done at a device that is being emulated.
fn emulate_operation(line: &str) -> Option<&str> {
    let operations = ["status", "slow", "fail", "repair", "power-cut", "power-on"];
    let operation = line.strip_prefix("esker emulate ")?.split(' ').next()?;
    operations.contains(&operation).then_some(line)
}

/// A command with options alone, such as `esker trace info --json`, is a mention, and not meant to be typed.
fn is_mention(line: &str) -> bool {
    let mut words = line.split(' ').skip(1);
    let runs_alone = ["esker devices", "esker trace formats", "esker model list"].contains(&line);
    let is_command = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || "-`".contains(c));
    !runs_alone && words.all(|word| word.starts_with("--") || is_command(word))
}

/// Checks that the commands and options that `printed` mentions exist.
fn assert_mentions_what_exists(folder: &Path, printed: &Printed) {
    let words: Vec<&str> = printed.line.split(' ').skip(1).collect();
    let is_command = |word: &&&str| {
        word.len() > 1 && !word.starts_with('-') && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let depth = if ["trace", "volume", "emulate", "model", "fs"].iter().any(|group| words.first() == Some(group)) {
        2
    } else {
        1
    };
    let commands: Vec<&str> = words.iter().take(depth).take_while(is_command).copied().collect();
    let place = &printed.place;
    assert!(!commands.is_empty(), "{place}: `{}` has no command", printed.line);
    let help = esker_ok(folder, &[&commands[..], &["--help"]].concat()).stdout;
    for option in words.iter().filter(|word| word.starts_with("--")) {
        let option = option.split('=').next().unwrap_or(option);
        let known = help.split([' ', '=', '[', '\n']).any(|word| word == option);
        assert!(known, "{place}: `{}`: there is no {option}", printed.line);
    }
}

/// Checks that the items of `esker reproduce` exist, even if stand-ins replace them.
fn assert_items_exist(printed: &Printed) {
    let words = printed.line.split(' ').skip_while(|word| *word != "reproduce").skip(1);
    let placeholder = |word: &&str| word.starts_with(|c: char| c.is_ascii_uppercase());
    for item in words.take_while(|word| !word.starts_with('-')).filter(|word| !placeholder(word)) {
        if let Err(error) = esker_repro::select(&[item.to_string()]) {
            panic!("{}: `{}`: {error}", printed.place, printed.line);
        }
    }
}

/// Runs each command in a copy of `folder`, two at a time. Returns the failures.
fn run_all(folder: &Path, commands: &[Printed]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(printed) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(fault) = run_one(folder, &printed.line) {
                faults.push(format!("{}: {}\n{fault}", printed.place, printed.line));
            }
        }
        faults
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut faults = work();
        faults.extend(other.join().expect("no panic"));
        faults
    })
}

fn run_one(from: &Path, line: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(from, folder.path());
    let run = shell(folder.path(), line);
    if run.code != 0 {
        return Err(format!("exit status {}:\n{}", run.code, run.stderr));
    }
    let words: Vec<&str> = line.split(' ').collect();
    for pair in words.windows(2).filter(|pair| pair[0] == "-o" && pair[1] != "-") {
        let exists = folder.path().join(pair[1]).exists();
        // The output of `blktrace -o -` goes into the pipe.
        if !exists {
            return Err(format!("it did not write {}", pair[1]));
        }
    }
    for file in words.iter().filter_map(|word| word.strip_prefix("--json=")) {
        let text = std::fs::read_to_string(folder.path().join(file)).map_err(|error| format!("{file}: {error}"))?;
        serde_json::from_str::<serde_json::Value>(&text).map_err(|error| format!("{file}: {error}"))?;
    }
    if let Some((_, path)) = line.split_once("| jq ") {
        let value: serde_json::Value = serde_json::from_str(&run.stdout).map_err(|error| error.to_string())?;
        if value.pointer(&path.replace('.', "/")).is_none() {
            return Err(format!("there is no {path} in its output"));
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the folder of stand-ins") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        // Links and folders are only read, so they need no copy.
        if entry.file_type().expect("its type").is_file() {
            std::fs::copy(entry.path(), to).expect("the folder can be written");
        } else {
            std::os::unix::fs::symlink(entry.path(), to).expect("the folder can be written");
        }
    }
}

/// Runs `line` as if a user had typed it.
fn shell(folder: &Path, line: &str) -> Run {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", line]);
    command.env("PATH", format!("{}:{path}", folder.join("bin").display())).current_dir(folder).stdin(Stdio::null());
    run_to_its_end(command, line)
}
