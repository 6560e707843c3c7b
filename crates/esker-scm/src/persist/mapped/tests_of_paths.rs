//! What is at the path of a pool that is made or opened, and who else has it.

use super::{MapError, Mapped};
use crate::persist::Persist;
use rustix::fs::FileType;

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn a_new_pool_is_its_owners_and_leaves_nothing_if_it_cannot_be_made() {
    use std::os::unix::fs::MetadataExt;
    let folder = std::env::temp_dir().join(format!("esker-scm-made-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("pool");
    drop(Mapped::create(&path, 1 << 20).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(Mapped::create(&path, 1 << 20).is_err() && path.exists());
    std::fs::remove_file(&path).unwrap();
    for length in [0, 1 << 50, u64::MAX] {
        assert!(Mapped::create(&path, length).is_err() && !path.exists(), "{length} bytes");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_empty_file_is_refused_as_one() {
    let path = std::env::temp_dir().join(format!("esker-scm-empty-{}", std::process::id()));
    std::fs::write(&path, []).unwrap();
    assert!(matches!(Mapped::open_to_look(&path), Err(MapError::Empty(_))));
    assert!(matches!(Mapped::open(&path), Err(MapError::Empty(_))));
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "Miri makes no FIFOs")]
fn a_fifo_is_refused_at_once() {
    let path = std::env::temp_dir().join(format!("esker-scm-fifo-{}", std::process::id()));
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(Mapped::open_to_look(&path), Err(MapError::NoFile(_))));
    assert!(matches!(Mapped::open(&path), Err(MapError::NoFile(_))));
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn a_pool_is_used_by_one_and_looked_at_by_many_who_change_nothing() {
    let folder = std::env::temp_dir().join(format!("esker-scm-mapped-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("pool");
    let used = Mapped::create(&path, 1 << 20).unwrap();
    used.write(100, b"there");
    assert!(matches!(Mapped::open(&path), Err(MapError::InUse(_))));
    assert!(matches!(Mapped::open_to_look(&path), Err(MapError::InUse(_))));
    drop(used);
    let (one, other) = (Mapped::open_to_look(&path).unwrap(), Mapped::open_to_look(&path).unwrap());
    assert!(matches!(Mapped::open(&path), Err(MapError::InUse(_))));
    one.write(100, b"where");
    one.write_back(100, 5);
    one.fence().unwrap();
    let mut bytes = [0; 5];
    other.read(100, &mut bytes);
    assert_eq!(&bytes, b"there");
    drop((one, other));
    Mapped::open(&path).unwrap().read(100, &mut bytes);
    assert_eq!(&bytes, b"there");
    std::fs::remove_dir_all(&folder).unwrap();
}
