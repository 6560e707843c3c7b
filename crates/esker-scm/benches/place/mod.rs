//! Where benchmarks have their pools: memory with huge pages, so that the page tables of the system cost the same
//! whatever lies where.

use esker_scm::{Mapped, Persist};
use std::path::PathBuf;
use std::process::Command;

/// A tmpfs with huge pages, which is unmounted at the end.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    mounted: Option<tempfile::TempDir>,
}

impl Place {
    #[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
    pub(crate) fn new() -> Place {
        if let Some(folder) = std::env::var_os("ESKER_BENCH_FOLDER") {
            return Place { folder: folder.into(), mounted: None };
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = "huge=always,size=3g";
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "esker-bench"]).arg(folder.path()).output();
        if !mount.is_ok_and(|done| done.status.success()) {
            println!("tmpfs with huge pages cannot be mounted: in {} instead", folder.path().display());
            return Place { folder: folder.path().into(), mounted: None };
        }
        Place { folder: folder.path().into(), mounted: Some(folder) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = &self.mounted {
            let _ = Command::new("umount").arg(folder.path()).status();
        }
    }
}

/// Has the system give all memory: a page of 2 MiB that is touched for the first time takes milliseconds.
pub(crate) fn touch(memory: &Mapped) {
    (0..memory.len()).step_by(2 << 20).for_each(|at| memory.write(at, &[0; 4096]));
}
