//! What programs do with files, and what has to be there after the next mount.

use crate::ground::Ground;
use rustix::fs::{AtFlags, CWD, FallocateFlags, RenameFlags, SeekFrom, XattrFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 253 + seed) as u8).collect()
}

#[test]
fn data_and_names_stay() {
    let Some(mut ground) = Ground::new() else { return };
    let content = bytes(5_000_123, 1);
    fs::write(ground.path("file"), &content).unwrap();
    fs::create_dir_all(ground.path("a/b/c")).unwrap();
    symlink("../file", ground.path("a/link")).unwrap();
    fs::hard_link(ground.path("file"), ground.path("a/b/c/hard")).unwrap();
    rustix::fs::mknodat(CWD, ground.path("fifo"), rustix::fs::FileType::Fifo, 0o640.into(), 0).unwrap();
    fs::set_permissions(ground.path("a"), fs::Permissions::from_mode(0o2751)).unwrap();
    rustix::fs::setxattr(ground.path("file"), "user.colour", b"blue", XattrFlags::empty()).unwrap();
    ground.remount();
    assert!(fs::read(ground.path("a/link")).unwrap() == content);
    let found = fs::metadata(ground.path("a/b/c/hard")).unwrap();
    assert_eq!((found.nlink(), found.len()), (2, 5_000_123));
    assert_eq!(fs::metadata(ground.path("fifo")).unwrap().mode(), 0o10640);
    assert_eq!(fs::metadata(ground.path("a")).unwrap().mode(), 0o42751);
    let mut value = [0; 10];
    assert_eq!(rustix::fs::getxattr(ground.path("file"), "user.colour", &mut value), Ok(4));
    assert_eq!(&value[..4], b"blue");
    let refused = rustix::fs::getxattr(ground.path("file"), "user.colour", &mut value[..2]);
    assert_eq!(refused, Err(Errno::RANGE));
}

#[test]
fn attributes_have_names() {
    let Some(ground) = Ground::new() else { return };
    let path = ground.path("file");
    fs::write(&path, "").unwrap();
    for sort in ["user.", "trusted.", "security."] {
        assert_eq!(rustix::fs::setxattr(&path, sort, b"x", XattrFlags::empty()), Err(Errno::INVAL), "{sort}");
        assert_eq!(rustix::fs::getxattr(&path, sort, &mut [0; 4]), Err(Errno::INVAL), "{sort}");
        assert_eq!(rustix::fs::removexattr(&path, sort), Err(Errno::INVAL), "{sort}");
    }
    assert_eq!(rustix::fs::listxattr(&path, &mut [0; 100]), Ok(0));
}

#[test]
fn what_loses_its_name_stays_usable() {
    let Some(mut ground) = Ground::new() else { return };
    let mut file = File::create_new(ground.path("file")).unwrap();
    file.write_all(b"before").unwrap();
    fs::create_dir(ground.path("folder")).unwrap();
    let folder = File::open(ground.path("folder")).unwrap();
    let same = File::open(ground.path("file")).unwrap();
    fs::remove_file(ground.path("file")).unwrap();
    fs::remove_dir(ground.path("folder")).unwrap();
    // Others get names and inodes meanwhile.
    for number in 0..50 {
        fs::write(ground.path(&format!("{number}")), "other").unwrap();
    }
    file.write_all(b" and after").unwrap();
    assert_eq!((file.metadata().unwrap().nlink(), folder.metadata().unwrap().nlink()), (0, 0));
    assert_eq!(std::io::read_to_string(&same).unwrap(), "before and after");
    assert_eq!(rustix::fs::mkdirat(&folder, "inside", 0o755.into()), Err(Errno::NOENT));
    drop((file, folder, same));
    ground.remount();
    assert_eq!(fs::read_dir(ground.path("")).unwrap().count(), 50);
}

#[test]
fn renames_have_their_flags() {
    let Some(ground) = Ground::new() else { return };
    fs::write(ground.path("a"), "a").unwrap();
    fs::write(ground.path("b"), "b").unwrap();
    let rename = |flags| rustix::fs::renameat_with(CWD, ground.path("a"), CWD, ground.path("b"), flags);
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EXIST));
    rename(RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read_to_string(ground.path("b")).unwrap(), "a");
    assert_eq!(rename(RenameFlags::WHITEOUT), Err(Errno::INVAL));
    rename(RenameFlags::empty()).unwrap();
    assert_eq!(fs::read_to_string(ground.path("b")).unwrap(), "b");
    assert!(!ground.path("a").exists());
}

#[test]
fn appends_of_many_are_whole() {
    let Some(ground) = Ground::new() else { return };
    let path = ground.path("log");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
                for line in 0..200 {
                    file.write_all(format!("{writer} {line:>5}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(&path).unwrap();
    for writer in 0..4 {
        let prefix = format!("{writer} ");
        let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix)?.trim().parse::<u32>().ok());
        assert!(lines.eq(0..200), "writer {writer}");
    }
    assert_eq!(text.len(), 4 * 200 * 8);
}

#[test]
fn ranges_are_allocated_punched_found_and_copied() {
    let Some(ground) = Ground::new() else { return };
    let content = bytes(64 << 10, 3);
    fs::write(ground.path("a"), &content).unwrap();
    let a = OpenOptions::new().read(true).write(true).open(ground.path("a")).unwrap();
    rustix::fs::fallocate(&a, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 8192, 16384).unwrap();
    assert_eq!(rustix::fs::seek(&a, SeekFrom::Hole(0)), Ok(8192));
    assert_eq!(rustix::fs::seek(&a, SeekFrom::Data(8192)), Ok(24576));
    assert_eq!(rustix::fs::seek(&a, SeekFrom::Data(1 << 20)), Err(Errno::NXIO));
    rustix::fs::fallocate(&a, FallocateFlags::empty(), 0, 100_000).unwrap();
    assert_eq!(a.metadata().unwrap().len(), 100_000);
    rustix::fs::fallocate(&a, FallocateFlags::KEEP_SIZE, 0, 1 << 20).unwrap();
    let found = a.metadata().unwrap();
    assert!(found.len() == 100_000 && found.blocks() * 512 >= 1 << 20);
    assert_eq!(rustix::fs::fallocate(&a, FallocateFlags::COLLAPSE_RANGE, 0, 4096), Err(Errno::OPNOTSUPP));
    let b = File::create_new(ground.path("b")).unwrap();
    let copied = rustix::fs::copy_file_range(&a, Some(&mut 4096), &b, Some(&mut 10), 1 << 20).unwrap();
    assert_eq!(copied, 100_000 - 4096);
    let mut expected = content.clone();
    expected[8192..24576].fill(0);
    expected.resize(100_000, 0);
    assert!(fs::read(ground.path("a")).unwrap() == expected);
    assert!(fs::read(ground.path("b")).unwrap() == [&[0; 10], &expected[4096..]].concat());
}

#[test]
fn what_was_copied_before_a_copy_had_to_end_is_told() {
    let Some(ground) = Ground::new() else { return };
    let content = bytes(3 << 20, 9);
    fs::write(ground.path("a"), &content).unwrap();
    let (a, b) = (File::open(ground.path("a")).unwrap(), File::create_new(ground.path("b")).unwrap());
    // The largest file of this pool: half of its virtual space.
    let largest = 512 << 20;
    b.set_len(largest).unwrap();
    assert_eq!(b.set_len(largest + 1).unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);
    let (mut from, mut to) = (0, largest - (3 << 19));
    let copied = rustix::fs::copy_file_range(&a, Some(&mut from), &b, Some(&mut to), 3 << 20).unwrap();
    assert!(copied > 0 && to == largest - (3 << 19) + copied as u64);
    let mut found = vec![0; copied];
    let read = File::open(ground.path("b")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&read, &mut found, to - copied as u64).unwrap();
    assert!(found == content[..copied]);
    let copied = rustix::fs::copy_file_range(&a, Some(&mut 0), &b, Some(&mut (largest - 5)), 10);
    assert_eq!(copied, Err(Errno::FBIG), "nothing could be copied");
}

#[test]
fn a_full_pool_says_so_and_has_room_again() {
    let Some(mut ground) = Ground::new() else { return };
    let mut file = File::create_new(ground.path("large")).unwrap();
    let block = bytes(1 << 20, 5);
    let error = loop {
        if let Err(error) = file.write_all(&block) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let length = file.metadata().unwrap().len();
    assert!(length > 40 << 20);
    drop(file);
    fs::remove_file(ground.path("large")).unwrap();
    fs::write(ground.path("again"), &block).unwrap();
    ground.remount();
    assert!(fs::read(ground.path("again")).unwrap() == block);
    let found = rustix::fs::statvfs(ground.path("again")).unwrap();
    assert!(found.f_bavail * found.f_frsize > length / 2 && found.f_namemax == 255);
}

#[test]
fn entries_are_listed_once_while_others_go() {
    let Some(ground) = Ground::new() else { return };
    fs::create_dir(ground.path("d")).unwrap();
    for number in 0..1000 {
        fs::write(ground.path(&format!("d/{number}")), "").unwrap();
    }
    let mut listed = Vec::new();
    for (index, entry) in fs::read_dir(ground.path("d")).unwrap().enumerate() {
        if index % 10 == 0 {
            let _ = fs::remove_file(ground.path(&format!("d/{}", 999 - index / 10)));
        }
        listed.push(entry.unwrap().file_name().into_string().unwrap().parse::<u32>().unwrap());
    }
    listed.sort_unstable();
    assert!(listed.windows(2).all(|pair| pair[0] < pair[1]), "listed twice");
    assert!((0..900).all(|number| listed.binary_search(&number).is_ok()));
}

#[test]
fn times_are_set_and_permissions_are_asked() {
    let Some(ground) = Ground::new() else { return };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o604).open(ground.path("a")).unwrap();
    let times = rustix::fs::Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: -5, tv_nsec: 0 },
        last_modification: rustix::fs::Timespec { tv_sec: 4_000_000_000, tv_nsec: 999_999_999 },
    };
    rustix::fs::utimensat(CWD, ground.path("a"), &times, AtFlags::empty()).unwrap();
    let found = file.metadata().unwrap();
    assert_eq!((found.atime(), found.atime_nsec()), (-5, 0));
    assert_eq!((found.mtime(), found.mtime_nsec()), (4_000_000_000, 999_999_999));
    // The last is clamped: times of files are nanoseconds since 1970 in 64 bits.
    let (earliest, its_fraction) = ((-i64::MAX).div_euclid(1_000_000_000), (-i64::MAX).rem_euclid(1_000_000_000));
    let all = [(-1, 999_999_999), (-5, 500_000_000), (-1, 0), (i64::MIN, 0), (i64::MIN, 1)];
    for (seconds, fraction) in all {
        let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: fraction };
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, ground.path("a"), &times, AtFlags::empty()).unwrap();
        let found = file.metadata().unwrap();
        let expected = if seconds == i64::MIN { (earliest, its_fraction) } else { (seconds, fraction) };
        assert_eq!((found.mtime(), found.mtime_nsec()), expected);
    }
    let access = rustix::fs::access(ground.path("a"), rustix::fs::Access::EXEC_OK);
    assert_eq!(access, Err(Errno::ACCESS));
}

/// The first time after each change (relatime), and what is noted stays.
#[test]
fn directories_that_are_listed_and_links_that_are_read_have_times_of_access() {
    let Some(mut ground) = Ground::new() else { return };
    let old = rustix::fs::Timespec { tv_sec: 1_000, tv_nsec: 5 };
    let times = rustix::fs::Timestamps { last_access: old, last_modification: old };
    let (folder, link) = (ground.path("folder"), ground.path("link"));
    fs::create_dir(&folder).unwrap();
    symlink("folder", &link).unwrap();
    let accessed = |path: &std::path::Path| {
        let found = fs::symlink_metadata(path).unwrap();
        (found.atime(), found.atime_nsec())
    };
    let list = || assert_eq!(fs::read_dir(&folder).unwrap().count(), fs::read_dir(&folder).unwrap().count());
    let read = || assert_eq!(fs::read_link(&link).unwrap().to_str(), Some("folder"));
    let reads: [(_, &dyn Fn()); 2] = [(&folder, &list), (&link, &read)];
    let mut noted = Vec::new();
    for (path, act) in reads {
        rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(accessed(path), (1_000, 5));
        act();
        let first = accessed(path);
        assert!(first > (1_000, 5), "{}", path.display());
        act();
        assert_eq!(accessed(path), first, "{}: nothing has changed", path.display());
        noted.push(first);
    }
    fs::write(folder.join("file"), "").unwrap();
    list();
    assert!(accessed(&folder) > noted[0], "it has changed");
    noted[0] = accessed(&folder);
    ground.remount();
    assert_eq!([accessed(&folder), accessed(&link)], *noted);
}

/// The kernel keeps what it knows of a file, and asks for permissions alone only if it has to: it has to learn that
/// writes of others take set-user-ID away.
#[test]
fn others_see_at_once_that_a_write_took_set_user_id_away() {
    use std::os::unix::process::CommandExt;
    let Some(ground) = Ground::new() else { return };
    let (nobody, path) = (65_534, ground.path("file"));
    fs::set_permissions(ground.path("").parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(ground.path(".."), fs::Permissions::from_mode(0o755)).unwrap();
    let permissions = || {
        let found = rustix::fs::statx(CWD, &path, AtFlags::empty(), rustix::fs::StatxFlags::MODE).unwrap();
        u32::from(found.stx_mode) & 0o7777
    };
    for (mode, command, expected) in [
        (0o6644, "echo > \"$0\"", 0o2644),
        (0o6754, "echo > \"$0\"", 0o754),
        (0o6744, "echo more >> \"$0\"", 0o2744),
        (0o4644, "printf X | dd of=\"$0\" conv=notrunc 2> /dev/null", 0o644),
        (0o4644, "truncate -s 3 \"$0\"", 0o644),
        (0o6755, "fallocate -l 9 \"$0\"", 0o755),
    ] {
        fs::write(&path, "before").unwrap();
        std::os::unix::fs::chown(&path, Some(nobody), Some(nobody)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(permissions(), mode);
        let mut other = std::process::Command::new("sh");
        let status = other.args(["-c", command]).arg(&path).uid(nobody).gid(nobody).status().unwrap();
        let found = permissions();
        assert!(status.success() && found == expected, "{command} on {mode:o}: {found:o}");
    }
}

/// Does something as nobody. Each thread has a user of its own.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let (user, group) = (rustix::process::Uid::from_raw(65_534), rustix::process::Gid::from_raw(65_534));
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            act()
        });
        acting.join().unwrap()
    })
}

/// The kernel asks for no change before some calls that write, and for chown(2) with neither owner nor group. Only the
/// owner may do the second.
#[test]
fn set_user_id_is_taken_away_by_who_may_write_and_by_no_other() {
    let Some(ground) = Ground::new() else { return };
    let path = ground.path("file");
    for folder in [ground.path("").parent().unwrap().to_path_buf(), ground.path("..")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let change_nothing = || as_nobody(|| rustix::fs::chownat(CWD, &path, None, None, AtFlags::empty()));
    fs::write(&path, "text").unwrap();
    for before in [0o4755, 0o6755, 0o4777] {
        set(before);
        // The kernel says that it has closed the file some time after that. Until then the call may succeed.
        let is_refused = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            change_nothing() == Err(Errno::PERM)
        });
        assert!(is_refused && mode() == before, "{before:o}: {:o}", mode());
    }
    // What somebody has open may be about to be written, but is not.
    let held = File::open(&path).unwrap();
    assert_eq!((change_nothing(), mode()), (Ok(()), 0o4777));
    drop(held);
    let open = || OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let writes: [&(dyn Fn() + Sync); 3] = [
        &|| rustix::fs::fallocate(open(), FallocateFlags::empty(), 0, 100).unwrap(),
        &|| assert_eq!(rustix::fs::copy_file_range(open(), Some(&mut 0), open(), Some(&mut 50), 2), Ok(2)),
        &|| open().write_all(b"x").unwrap(),
    ];
    for (index, write) in writes.into_iter().enumerate() {
        set(0o6777);
        as_nobody(write);
        assert_eq!(mode(), 0o777, "way {index} to write");
    }
    // Anybody may change nothing of a file that has no such bits, and the owner of any.
    set(0o755);
    assert_eq!(change_nothing(), Ok(()));
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    set(0o6755);
    assert_eq!((change_nothing(), mode()), (Ok(()), 0o755));
}
