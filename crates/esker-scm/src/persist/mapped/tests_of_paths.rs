//! What is at the path of a pool that is made or opened.

use super::Mapped;

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn a_new_pool_is_its_owners() {
    use std::os::unix::fs::MetadataExt;
    let folder = std::env::temp_dir().join(format!("esker-scm-made-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("pool");
    drop(Mapped::create(&path, 1 << 20).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    std::fs::remove_dir_all(&folder).unwrap();
}
