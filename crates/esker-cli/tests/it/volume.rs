//! `esker volume`: volumes on files, from the command line.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{esker_in, esker_ok, esker_refuses, folder_with_trace};

/// Creates `home.volume` on two files.
fn create(folder: &Path, options: &[&str]) -> String {
    let devices = ["--device", "flash=flash.img,8MiB", "--device", "disk=disk.img,16MiB"];
    esker_ok(folder, &[&["volume", "create", "home.volume"], &devices[..], options].concat()).stdout
}

/// An image of this many bytes: data at its start and near its end, and nothing between.
fn image(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let byte = |index: usize| (index * 7 + index / 251) as u8 | 1;
    (0..300_000).chain(length - 100_001..length - 1).for_each(|index| bytes[index] = byte(index));
    bytes
}

#[test]
fn an_image_comes_out_as_it_went_in_and_its_holes_stay_holes() {
    for options in [
        &["--set", "extent=64KiB"][..],
        &["--set", "extent=64KiB", "--set", "cached_extents=4", "--policy", "migration"],
        &["--kind", "array", "--set", "stripe=4KiB"],
        &["--kind", "cache", "--set", "write=write-back", "--policy", "fifo"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let said = create(folder.path(), options);
        assert!(said.contains("flash") && said.contains("disk") && said.contains("checkpoint 1"), "{said}");
        let bytes = image(6 << 20);
        fs::write(folder.path().join("in.img"), &bytes).unwrap();
        // Arrays and caches do not know whether they hold data.
        let copy = ["volume", "copy", "home.volume", "--from", "in.img", "--overwrite"];
        let words = if options.contains(&"--kind") { 6 } else { 5 };
        let copied = esker_ok(folder.path(), &copy[..words]).stdout;
        assert_eq!(copied, "6 MiB copied into the volume, 396 KiB of it data\n", "{options:?}");
        esker_ok(folder.path(), &["volume", "copy", "home.volume", "--to", "out.img"]);
        let out = fs::read(folder.path().join("out.img")).unwrap();
        assert!(out[..bytes.len()] == bytes && out[bytes.len()..].iter().all(|&byte| byte == 0), "{options:?}");
        let metadata = fs::metadata(folder.path().join("out.img")).unwrap();
        assert!(metadata.blocks() * 512 < 600_000, "{} of {}", metadata.blocks() * 512, metadata.len());
        // What is there already becomes zero where the next image is.
        fs::write(folder.path().join("empty.img"), vec![0; 6 << 20]).unwrap();
        esker_ok(folder.path(), &["volume", "copy", "home.volume", "--from", "empty.img", "--overwrite"]);
        esker_ok(folder.path(), &["volume", "copy", "home.volume", "--to", "out.img", "--force"]);
        assert!(fs::read(folder.path().join("out.img")).unwrap().iter().all(|&byte| byte == 0), "{options:?}");
        let checked = esker_ok(folder.path(), &["volume", "check", "home.volume"]).stdout;
        assert!(checked.contains("everything is there and whole"), "{checked}");
    }
}

#[test]
fn the_map_that_a_volume_follows_is_not_replaced_by_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    fs::write(folder.path().join("ranges.map"), "start_bytes,length_bytes,device\n0,1048576,flash\n").unwrap();
    esker_ok(folder.path(), &["volume", "set", "home.volume", "--map", "ranges.map"]);
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let copy = names.into_iter().find(|name| name.starts_with("home.volume.") && name.ends_with(".map")).unwrap();
    let text = fs::read(folder.path().join(&copy)).unwrap();
    let said = esker_refuses(folder.path(), &["volume", "copy", "home.volume", "--to", &copy, "--force"]);
    assert!(said.contains("would replace the input"), "{said}");
    assert_eq!(fs::read(folder.path().join(&copy)).unwrap(), text);
}

#[test]
fn what_is_larger_than_files_may_be_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_esker");
    let create = format!("ulimit -f 64; exec {program} volume create big.volume --device big=big.img,64MiB");
    let run = std::process::Command::new("sh").args(["-c", &create]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.code().is_some() && said.contains("File too large"), "{:?}: {said}", run.status);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_changes_no_byte_behind_the_image_and_no_data_unasked() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    fs::write(folder.path().join("long.img"), vec![7; 10_000]).unwrap();
    fs::write(folder.path().join("short.img"), vec![9; 1000]).unwrap();
    let copy = |arguments: &[&'static str]| [&["volume", "copy", "home.volume"], arguments].concat();
    esker_ok(folder.path(), &copy(&["--from", "long.img"]));
    let refused = esker_refuses(folder.path(), &copy(&["--from", "short.img"]));
    assert!(refused.contains("home.volume may hold data") && refused.contains("--overwrite"), "{refused}");
    esker_ok(folder.path(), &copy(&["--from", "short.img", "--overwrite"]));
    esker_ok(folder.path(), &copy(&["--to", "out.img"]));
    let out = fs::read(folder.path().join("out.img")).unwrap();
    assert!(out[..1000] == [9; 1000] && out[1000..10_000].iter().all(|&byte| byte == 7), "{:?}", &out[990..1030]);
    std::os::unix::fs::symlink("disk.img", folder.path().join("link.img")).unwrap();
    for device in ["disk.img", "link.img"] {
        let own = esker_refuses(folder.path(), &[&copy(&["--overwrite", "--from"])[..], &[device]].concat());
        assert!(own.contains("is disk, a device of the volume"), "{own}");
    }
}

#[test]
fn what_is_damaged_on_one_device_is_said_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    fs::write(folder.path().join("in.img"), image(6 << 20)).unwrap();
    esker_ok(folder.path(), &["volume", "copy", "home.volume", "--from", "in.img"]);
    let path = folder.path().join("flash.img");
    let mut bytes = fs::read(&path).unwrap();
    // The superblock, the journal and the checkpoints.
    bytes[..512 << 10].fill(0);
    fs::write(&path, &bytes).unwrap();
    let check = |options: &[&str]| esker_in(folder.path(), &[&["volume", "check", "home.volume"], options].concat());
    let damaged = check(&[]);
    assert!(damaged.code == 1 && damaged.stdout.contains("--repair writes it again"), "{}", damaged.stdout);
    assert!(fs::read(&path).unwrap() == bytes, "a check writes nothing");
    let repaired = check(&["--repair"]);
    assert!(repaired.code == 0 && repaired.stdout.contains("it was repaired"), "{}", repaired.stdout);
    let whole = check(&[]);
    assert!(whole.code == 0 && whole.stdout.contains("everything is there and whole"), "{}", whole.stdout);
    let dump = esker_ok(folder.path(), &["volume", "dump", "home.volume"]).stdout;
    for words in ["flash: first superblock at byte 0", "keeps the map", "extent 0 got extent ", ", the last one"] {
        assert!(dump.contains(words), "{words} is not in:\n{dump}");
    }
    let part = esker_ok(folder.path(), &["volume", "dump", "home.volume", "--only", "superblocks"]).stdout;
    assert!(part.contains("superblock") && !part.contains("checkpoint area 0"), "{part}");
}

#[test]
fn a_missing_device_is_named_and_the_rest_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    fs::rename(folder.path().join("disk.img"), folder.path().join("away")).unwrap();
    let checked = esker_in(folder.path(), &["volume", "check", "home.volume", "--repair"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    assert!(checked.stderr.contains("disk (disk.img) is not there"), "{}", checked.stderr);
    let row = checked.stdout.lines().find(|line| line.starts_with("disk")).unwrap();
    assert!(row.contains("missing") && checked.stdout.contains("only to be read"), "{}", checked.stdout);
    fs::rename(folder.path().join("away"), folder.path().join("moved.img")).unwrap();
    let file = fs::read_to_string(folder.path().join("home.volume")).unwrap();
    fs::write(folder.path().join("home.volume"), file.replace("disk.img", "moved.img")).unwrap();
    esker_ok(folder.path(), &["volume", "check", "home.volume"]);
}

#[test]
fn a_replay_prints_the_results_of_a_simulation() {
    let folder = folder_with_trace(300);
    create(folder.path(), &["--set", "extent=64KiB"]);
    let options = ["--set", "beyond_capacity=wrap", "--depth", "8"];
    let replay = ["volume", "replay", "home.volume", "small.csv"];
    // Nothing is on the volume yet.
    esker_ok(folder.path(), &[&replay[..], &options, &["--json=live.json"]].concat());
    let live: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("live.json")).unwrap()).unwrap();
    let schema = esker_ok(folder.path(), &["schema", "results"]).stdout;
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    assert!(validator.is_valid(&live), "{live:#}");
    assert_eq!((&live["workload"]["requests"], &live["requests"]["all"]["count"]), (&300.into(), &300.into()));
    assert_eq!(live["devices"]["volume"]["kind"], "hybrid");
    let refused = esker_refuses(folder.path(), &[&replay[..], &options].concat());
    assert!(refused.contains("home.volume may hold data") && refused.contains("--overwrite"), "{refused}");
    let shown = esker_ok(folder.path(), &[&replay[..], &options, &["--overwrite"]].concat()).stdout;
    assert!(shown.contains("300 requests") && shown.contains("volume (hybrid, "), "{shown}");
    let filled = esker_ok(folder.path(), &[&replay[..], &options, &["--overwrite", "--fill"]].concat()).stdout;
    assert!(filled.contains("300 requests"), "{filled}");
    // Each sector has its number and that of its request; 0 if it was only filled.
    esker_ok(folder.path(), &["volume", "copy", "home.volume", "--to", "out.img"]);
    let out = fs::read(folder.path().join("out.img")).unwrap();
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut written = 0;
    for (sector, bytes) in (0u64..).zip(out.chunks(512)).filter(|(_, bytes)| bytes.iter().any(|&byte| byte != 0)) {
        written += u64::from(number(&bytes[..8]) > 0);
        let stamp = (number(&bytes[..8]), number(&bytes[8..16]));
        assert!(stamp.0 <= 300 && stamp.1 == sector, "sector {sector}: {stamp:?}");
    }
    assert!(written > 1000, "{written}");
}

#[test]
fn mistakes_are_named_and_leave_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    fs::write(folder.path().join("ext4.img"), {
        let mut bytes = vec![0; 4 << 20];
        bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
        bytes
    })
    .unwrap();
    fs::write(folder.path().join("large.img"), vec![0; 30 << 20]).unwrap();
    let two = ["--device", "a=a.img,8MiB", "--device", "b=b.img,8MiB"];
    let create = |more: &[&'static str]| [&["volume", "create", "new.volume"], more].concat();
    for (arguments, says) in [
        (create(&["--device", "a=ext4.img"]), "a holds an ext2, ext3 or ext4 file system; nothing was written"),
        (create(&["--device", "a=flash.img"]), "a holds an esker volume; nothing was written"),
        (create(&["--device", "a=flash.img,8MiB"]), "to use what is there, leave its size out"),
        (create(&["--device", "a=new.img"]), "to make the file, say how large: new.img,10GiB"),
        (create(&["--device", "a=new.img,1MiB"]), "a device of 1MiB has no room for data"),
        (create(&["--device", "new.img"]), "it has no name"),
        (create(&["--device", "a=a.img,8MiB", "--device", "a=b.img,8MiB"]), "two devices are called `a`"),
        (create(&["--device", "a=a.img,8MiB", "--kind", "cache"]), "a cache has two devices"),
        (create(&["--device", "a=ext4.img", "--device", "b=./ext4.img", "--force"]), "./ext4.img is given twice"),
        (create(&["--device", "a=new.volume,8MiB"]), "new.volume is the device a, too"),
        (create(&[&two[..], &["--keeps-map", "c"]].concat()), "the devices are a, b"),
        (
            create(&[&two[..], &["--kind", "cluster", "--set", "replicas=2", "--keeps-map", "b"]].concat()),
            "two devices have to keep its map",
        ),
        (create(&[&two[..], &["--kind", "cahce"]].concat()), "did you mean `cache`?"),
        (create(&[&two[..], &["--policy", "wardorp"]].concat()), "did you mean `wardrop`?"),
        (create(&[&two[..], &["--set", "extend=1MiB"]].concat()), "did you mean `extent`?"),
        (create(&[&two[..], &["--set", "extent"]].concat()), "expected KEY=VALUE"),
        (create(&[&two[..], &["--set", "policy.delta=5%"]].concat()), "say --policy NAME, too"),
        (create(&[&two[..], &["--policy", "wardrop", "--set", "policy=migration"]].concat()), "leave one out"),
        (create(&[&two[..], &["--policy", "migration", "--set", "policy.dleta=5%"]].concat()), "did you mean `delta`?"),
        (vec!["volume", "check", "flash.img"], "name the volume's file, not one of its devices"),
        (vec!["volume", "check", "none.volume"], "`esker volume create` makes a volume and its file"),
        (vec!["volume", "copy", "home.volume", "--from", "large.img"], "has 30MiB, more than the"),
        (vec!["volume", "copy", "home.volume", "--to", "ext4.img"], "--force replaces it"),
        (vec!["volume", "copy", "home.volume", "--to", "disk.img", "--force"], "would replace the input disk.img"),
        (vec!["volume", "replay", "home.volume"], "there is no trace to replay"),
        (vec!["volume", "set", "home.volume", "--set", "extent=1MiB"], "a volume keeps what it was made with"),
        (vec!["volume", "set", "home.volume", "--set", "policy.life=5y"], "say --policy NAME, too"),
    ] {
        let error = esker_refuses(folder.path(), &arguments);
        assert!(error.contains(says), "esker {}: {error}", arguments.join(" "));
    }
    let checked = esker_ok(folder.path(), &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
    let made = esker_ok(folder.path(), &create(&[&two[..], &["--keeps-map", "b"]].concat()));
    assert!(made.stderr.contains("b alone keeps the map"), "{}", made.stderr);
    for file in ["new.volume", "a.img", "b.img"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    let delta = ["--policy", "migration", "--set", "policy.delta=5%"];
    esker_ok(folder.path(), &create(&[&two[..], &delta].concat()));
    // What is there may be given up.
    esker_ok(folder.path(), &create(&["--device", "a=ext4.img", "--force"]));
}

#[test]
fn keys_of_the_policy_are_set_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--policy", "cost-benefit", "--set", "policy.life=3y"]);
    let set = |options: &[&str]| esker_ok(folder.path(), &[&["volume", "set", "home.volume"], options].concat()).stdout;
    assert!(set(&["--pause"]).starts_with("policy cost-benefit (life 3y); background paused"));
    let longer = set(&["--policy", "cost-benefit", "--set", "policy.life=5y"]);
    assert!(longer.starts_with("policy cost-benefit (life 5y); background paused"), "{longer}");
    assert!(set(&["--policy", "wardrop"]).starts_with("policy wardrop; background paused"));
}

#[test]
fn a_volume_is_used_by_one_program_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path(), &["--set", "extent=64KiB"]);
    let held = fs::OpenOptions::new().write(true).open(folder.path().join("disk.img")).unwrap();
    held.lock().unwrap();
    let error = esker_refuses(folder.path(), &["volume", "check", "home.volume"]);
    assert!(error.contains("cannot open disk (disk.img): another program uses it"), "{error}");
    drop(held);
    esker_ok(folder.path(), &["volume", "check", "home.volume"]);
}

/// Creates a cluster of two copies on three files, with an image in it, which is returned.
fn cluster(folder: &Path) -> Vec<u8> {
    let kind = ["--kind", "cluster", "--set", "replicas=2", "--set", "object=64KiB", "--set", "reserve=50%"];
    let devices = ["--device", "a=a.img,16MiB", "--device", "b=b.img,16MiB", "--device", "c=c.img,16MiB"];
    let small = ["--set", "objects_per_slice=4"];
    esker_ok(folder, &[&["volume", "create", "home.volume"], &kind[..], &small, &devices].concat());
    let bytes = image(4 << 20);
    fs::write(folder.join("in.img"), &bytes).unwrap();
    esker_ok(folder, &["volume", "copy", "home.volume", "--from", "in.img"]);
    bytes
}

#[test]
fn a_blank_drive_in_the_place_of_a_dead_one_counts_as_missing() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let bytes = cluster(folder);
    fs::File::create(folder.join("c.img")).unwrap().set_len(16 << 20).unwrap();
    let checked = esker_in(folder, &["volume", "check", "home.volume"]);
    let says = "c (c.img) holds nothing of a volume, and counts as missing; the volume is only read, without it";
    assert!(checked.code == 1 && checked.stderr.contains(says), "{}", checked.stderr);
    esker_ok(folder, &["volume", "copy", "home.volume", "--to", "out.img"]);
    assert!(fs::read(folder.join("out.img")).unwrap().starts_with(&bytes));
    assert!(fs::read(folder.join("c.img")).unwrap().iter().all(|&byte| byte == 0));
    esker_ok(folder, &["volume", "remove-device", "home.volume", "c", "--lost"]);
    esker_ok(folder, &["volume", "add-device", "home.volume", "--device", "d=c.img"]);
    // Another device keeps the map now, and that is finished before a command ends.
    let checked = esker_ok(folder, &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");

    // One whose superblocks are damaged may hold what nothing else has.
    let mut damaged = fs::read(folder.join("a.img")).unwrap();
    let last = damaged.len() - (16 << 10);
    [100, last + 100].iter().for_each(|&at| damaged[at] ^= 1);
    fs::write(folder.join("a.img"), damaged).unwrap();
    let error = esker_refuses(folder, &["volume", "check", "home.volume"]);
    assert!(error.contains("a has no superblock") && error.contains("counts as missing"), "{error}");
}

/// A socket cannot be opened, with the error of a disk that was pulled out.
#[test]
fn a_device_that_cannot_be_opened_is_left_out_by_what_does_without_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    cluster(folder);
    fs::remove_file(folder.join("c.img")).unwrap();
    let _pulled_out = std::os::unix::net::UnixListener::bind(folder.join("c.img")).unwrap();
    let checked = esker_in(folder, &["volume", "check", "home.volume"]);
    let says = ["cannot open c (c.img): No such device", "; the volume is only read, without it"];
    assert!(checked.code == 1 && says.iter().all(|said| checked.stderr.contains(said)), "{}", checked.stderr);
    let refused = esker_refuses(folder, &["volume", "copy", "home.volume", "--from", "in.img", "--overwrite"]);
    assert!(refused.contains("cannot open c") && refused.contains("--lost"), "{refused}");
    let refused = esker_refuses(folder, &["volume", "remove-device", "home.volume", "b", "--lost"]);
    assert!(refused.contains("cannot open c"), "{refused}");
    esker_ok(folder, &["volume", "remove-device", "home.volume", "c", "--lost"]);
    let checked = esker_ok(folder, &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

#[test]
fn what_copies_out_leaves_all_devices_alike() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    cluster(folder);
    fs::remove_file(folder.join("b.img")).unwrap();
    esker_ok(folder, &["volume", "remove-device", "home.volume", "b", "--lost"]);
    esker_ok(folder, &["volume", "copy", "home.volume", "--to", "out.img"]);
    let checked = esker_ok(folder, &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}

#[test]
fn a_volume_whose_start_is_gone_is_not_replaced_and_a_cut_is_no_small_matter() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    create(folder, &["--set", "extent=64KiB"]);
    let mut bytes = fs::read(folder.join("disk.img")).unwrap();
    bytes[..16 << 10].fill(0);
    fs::write(folder.join("disk.img"), bytes).unwrap();
    let refused = esker_refuses(folder, &["volume", "create", "new.volume", "--device", "q=disk.img"]);
    assert!(refused.contains("q holds an esker volume; nothing was written"), "{refused}");
    let repaired = esker_ok(folder, &["volume", "check", "home.volume", "--repair"]).stdout;
    assert!(repaired.contains("it was repaired"), "{repaired}");

    let disk = fs::OpenOptions::new().write(true).open(folder.join("disk.img")).unwrap();
    disk.set_len(6 << 20).unwrap();
    let cut = esker_refuses(folder, &["volume", "check", "home.volume"]);
    assert!(cut.contains("the first 6MiB") && cut.contains("may be gone"), "{cut}");
    disk.set_len(16 << 20).unwrap();
    let repaired = esker_ok(folder, &["volume", "check", "home.volume", "--repair"]).stdout;
    assert!(repaired.contains("No data were read"), "{repaired}");
}

#[test]
fn a_line_of_no_device_of_the_volume_has_nothing_only_read() {
    let home = tempfile::tempdir().unwrap();
    create(home.path(), &[]);
    let file = home.path().join("home.volume");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "spare = \"spare.img\"\n").unwrap();
    let checked = esker_ok(home.path(), &["volume", "check", "home.volume"]).stderr;
    let says = "spare (spare.img) is not there; the volume has no such device: take its line out of home.volume\n";
    assert_eq!(checked, says);
}

#[test]
fn what_is_for_other_commands_is_refused_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    create(home.path(), &[]);
    let new = ["volume", "create", "new.volume", "--device"];
    for (arguments, says) in [
        ([&new[..], &["a=flash.img"]].concat(), "if what is there may be lost, say --force"),
        ([&new[..], &["a=a.img,8MiB", "--policy", "colloid"]].concat(), "`colloid` is for simulations only"),
        (vec!["volume", "set", "home.volume", "--policy", "most"], "`most` is for simulations only"),
        (vec!["volume", "copy", "home.volume", "--from", "."], "name a raw image, which is a file or a disk"),
    ] {
        let error = esker_refuses(home.path(), &arguments);
        assert!(error.contains(says), "esker {}: {error}", arguments.join(" "));
    }
}
