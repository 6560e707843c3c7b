//! Outputs that are accepted: new files, files of the same kind, targets of links, FIFOs, devices.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::refused::Loop;
use super::{Ground, NOBODY, Writing, give, is_root, mode, set_mode, skip, tool};

#[test]
fn a_link_stays_and_what_it_leads_to_gets_the_output() {
    for ground in Ground::each() {
        fs::create_dir(ground.path("elsewhere")).unwrap();
        ground.own("elsewhere");
        for writing in Writing::on(&ground) {
            let target = writing.name("elsewhere/target");
            ground.link(&target, "link");
            ground.link("link", &writing.name("output"));
            // The link is dangling at first; then it leads to the output.
            for arguments in [writing.to(&writing.name("output")), writing.again(&writing.name("output"))] {
                ground.succeeds(&arguments);
                assert!(!ground.read(&target).is_empty());
                for link in ["link", &writing.name("output")] {
                    assert!(fs::symlink_metadata(ground.path(link)).unwrap().is_symlink(), "{link} was replaced");
                }
                if writing.is_study() {
                    break;
                }
            }
            for name in ["link", &target, &writing.name("output")] {
                fs::remove_file(ground.path(name)).unwrap();
            }
        }
    }
}

#[test]
fn mode_owner_and_group_stay() {
    for ground in Ground::each() {
        for writing in Writing::quick() {
            let name = writing.name("kept");
            ground.write(&name, "");
            set_mode(&ground.path(&name), 0o640);
            if is_root() && ground.user.is_none() {
                give(&ground.path(&name), NOBODY, 7);
            }
            let before = fs::metadata(ground.path(&name)).unwrap();
            ground.succeeds(&writing.to(&name));
            let after = fs::metadata(ground.path(&name)).unwrap();
            assert!(after.len() > 0 && after.ino() != before.ino(), "a new file in its place");
            assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        }
        // A new file has the usual permissions of the user's files.
        ground.succeeds(&["devices", "--json=new.json"]);
        assert_eq!(mode(&ground.path("new.json")), mode(&ground.path("small.csv")));
    }
}

#[test]
fn a_fifo_stays_and_its_reader_gets_the_output() {
    for ground in Ground::each() {
        for writing in Writing::on(&ground) {
            let fifo = writing.name("fifo");
            if !tool("mkfifo", &[&ground.path(&fifo).display().to_string()]) {
                return skip("there is no mkfifo");
            }
            ground.own(&fifo);
            let path = ground.path(&fifo);
            let reader = std::thread::spawn(move || fs::read(path).unwrap());
            ground.succeeds(&writing.to(&fifo));
            assert!(fs::symlink_metadata(ground.path(&fifo)).unwrap().file_type().is_fifo(), "the FIFO was replaced");
            let got = reader.join().unwrap();
            assert!(got.len() > 100);
            fs::remove_file(ground.path(&fifo)).unwrap();
            if !writing.is_study() {
                ground.succeeds(&writing.to(&writing.name("file")));
                assert!(got == ground.read(&writing.name("file")), "{fifo}: {} bytes", got.len());
                fs::remove_file(ground.path(&writing.name("file"))).unwrap();
            }
        }
    }
}

#[test]
fn a_device_stays_a_device() {
    for ground in Ground::each() {
        let Some(null) = ground.device("null", ["c", "1", "3"], "/dev/null") else { continue };
        ground.link(&null, "leads-to-null");
        for writing in Writing::on(&ground) {
            for out in ["leads-to-null", &*null].into_iter().take(if writing.is_study() { 1 } else { 2 }) {
                ground.succeeds(&writing.to(out));
                assert!(fs::symlink_metadata(ground.path(&null)).unwrap().file_type().is_char_device());
            }
        }
        assert!(fs::symlink_metadata(ground.path("leads-to-null")).unwrap().is_symlink());
    }
}

#[test]
fn standard_output_by_another_name_is_standard_output() {
    let ground = Ground::harmless();
    let plain = ground.succeeds(&["devices", "--json"]).stdout;
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let out = format!("--json={name}");
        assert_eq!(ground.succeeds(&["devices", &out]).stdout, plain, "{name}");
        // A file opened by the shell is appended to, not replaced.
        ground.write("log", "before\n");
        let log = fs::OpenOptions::new().append(true).open(ground.path("log")).unwrap();
        let mut command = ground.command(&["devices", &out]);
        assert_eq!(crate::support::run(command.stdout(log), name).unwrap().code, 0);
        assert_eq!(String::from_utf8(ground.read("log")).unwrap(), format!("before\n{plain}"), "{name}");
    }
}

#[test]
fn sockets_and_other_descriptors_get_the_output() {
    let ground = Ground::new(None);
    let plain = ground.succeeds(&["devices", "--json"]).stdout;
    let listener = UnixListener::bind(ground.path("socket")).unwrap();
    let reader = std::thread::spawn(move || {
        let mut got = String::new();
        listener.accept().unwrap().0.read_to_string(&mut got).unwrap();
        got
    });
    ground.succeeds(&["devices", "--json=socket"]);
    assert!(fs::symlink_metadata(ground.path("socket")).unwrap().file_type().is_socket(), "the socket was replaced");
    assert_eq!(reader.join().unwrap(), plain);
    // The descriptors of a shell, as in `--json=>(command)` and `3>FILE`.
    let script = "printf before >third; \"$0\" devices --json=/dev/fd/3 3>>third";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_esker")]).current_dir(ground.folder.path());
    assert_eq!(crate::support::run(&mut shell, "in a shell").unwrap().code, 0);
    assert_eq!(String::from_utf8(ground.read("third")).unwrap(), format!("before{plain}"));
}

#[test]
fn what_is_compressed_is_known_again() {
    let ground = Ground::new(None);
    for (out, magic) in
        [("--json=list.json.gz", &[0x1f, 0x8b][..]), ("--json=list.json.zst", &[0x28, 0xb5, 0x2f, 0xfd])]
    {
        for _ in 0..2 {
            ground.succeeds(&["devices", out]);
            assert!(ground.read(&out["--json=".len()..]).starts_with(magic), "{out}");
        }
    }
    ground.succeeds(&["trace", "convert", "small.csv", "-o", "small.spc.zst"]);
    ground.succeeds(&["trace", "convert", "small.csv", "-o", "small.spc.zst", "--force"]);
    assert!(ground.fails(2, &["devices", "--json=small.spc.zst"]).contains("--force"));
}

#[test]
fn a_disk_is_written_to() {
    let ground = Ground::new(None);
    ground.write("disk", vec![0; 2 << 20]);
    let Some(device) = Loop::over(&ground, "disk") else {
        return skip("loop devices need root and a kernel that lets it");
    };
    for writing in Writing::quick() {
        // A disk is written to if that is said, also one whose beginning is zero.
        assert!(ground.fails(2, &writing.to("disk.node")).contains("disk.node is a disk"));
        ground.succeeds(&[writing.to("disk.node"), vec!["--force".to_string()]].concat());
        assert!(fs::symlink_metadata(ground.path("disk.node")).unwrap().file_type().is_block_device());
        ground.succeeds(&writing.to(&writing.name("file")));
        let expected = ground.read(&writing.name("file"));
        let mut found = vec![0; expected.len()];
        fs::File::open(&device.0).unwrap().read_exact(&mut found).unwrap();
        assert!(found == expected, "{} on a disk", writing.arguments.join(" "));
        fs::remove_file(ground.path(&writing.name("file"))).unwrap();
    }
    drop(device);
    ground.write("disk", vec![0; 2 << 20]);
    let Some(device) = Loop::over(&ground, "disk") else { return skip("no second loop device") };
    let out = "--json=disk.node";
    ground.succeeds(&["devices", out, "--force"]);
    assert!(ground.fails(2, &["devices", out]).contains("--force"));
    fs::write(&device.0, b"a file system").unwrap();
    assert!(ground.fails(2, &["devices", out]).contains("--force"));
    // A disk in use is never written to, even with `--force`.
    let mount = ground.path("mount");
    fs::create_dir(&mount).unwrap();
    let mount = mount.display().to_string();
    if tool("mkfs.ext4", &["-F", &device.0]) && tool("mount", &[&device.0, &mount]) {
        let error = ground.fails(2, &["devices", out, "--force"]);
        assert!(tool("umount", &[&mount]));
        assert!(error.contains("disk.node"), "{error}");
    }
}

#[test]
fn a_file_that_cannot_be_replaced_as_it_was_stays() {
    for ground in Ground::each() {
        let may_do_all = is_root() && ground.user.is_none();
        for writing in Writing::quick() {
            let name = writing.name("locked");
            ground.write(&name, "");
            // A read-only file is not replaced, although the folder is writable.
            set_mode(&ground.path(&name), 0o444);
            if !may_do_all {
                let error = ground.fails(2, &writing.to(&name));
                assert!(error.contains(&name) && error.contains("ermission denied"), "{error}");
            }
            fs::remove_file(ground.path(&name)).unwrap();
        }
        if may_do_all || !is_root() {
            continue;
        }
        // A file of another user, and a file in a folder of another user, which the user may write but not replace.
        for writing in Writing::quick() {
            let name = writing.name("others");
            ground.write(&name, "");
            give(&ground.path(&name), 0, NOBODY);
            set_mode(&ground.path(&name), 0o660);
            let error = ground.fails(2, &writing.to(&name));
            assert!(error.contains(&name) && error.contains("owner") && error.contains("> FILE"), "{error}");
            assert_eq!(fs::metadata(ground.path(&name)).unwrap().uid(), 0);
            fs::remove_file(ground.path(&name)).unwrap();
        }
        ground.write("result.json", "");
        fs::create_dir(ground.path("points")).unwrap();
        ground.own("points");
        give(ground.folder.path(), 0, 0);
        set_mode(ground.folder.path(), 0o755);
        for writing in Writing::quick().filter(|writing| writing.ending == "json") {
            let error = ground.fails(2, &writing.to("result.json"));
            assert!(error.contains("result.json") && error.contains("folder") && error.contains("> FILE"), "{error}");
            let error = ground.fails(2, &writing.to("new.json"));
            assert!(error.contains("new.json") && error.contains("ermission denied"), "{error}");
        }
        assert_eq!(ground.read("result.json"), b"");
    }
}

#[test]
fn a_file_that_is_mounted_by_itself_stays() {
    let ground = Ground::new(None);
    ground.write("result.json", "{}");
    ground.write("behind.json", "[]");
    let [place, behind] = ["result.json", "behind.json"].map(|name| ground.path(name).display().to_string());
    if !(is_root() && tool("mount", &["--bind", &behind, &place])) {
        return skip("mounting needs root and a kernel that lets it");
    }
    let run = ground.esker(&["devices", "--json=result.json", "--force"]);
    assert!(tool("umount", &[&place]));
    let run = run.unwrap();
    assert!(run.code == 2 && run.stderr.contains("result.json: it is mounted"), "{}", run.stderr);
    assert_eq!(ground.read("behind.json"), b"[]");
}
