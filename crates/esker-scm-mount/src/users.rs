//! Who uses a mount: found in `/proc`, without a look at the mount itself.

use std::fmt;
use std::path::{Path, PathBuf};

/// A process that keeps a mount from being unmounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub process: u32,
    /// The name of its program.
    pub name: String,
    /// Files that it has open.
    pub open_files: usize,
    /// The directory that it works in, or its root, if that is in the mount.
    pub works_in: Option<PathBuf>,
    /// Whether it has files mapped.
    pub maps: bool,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.process, self.name)?;
        let mut what = Vec::new();
        match self.open_files {
            0 => {}
            1 => what.push("has a file open".to_string()),
            count => what.push(format!("has {count} files open")),
        }
        if let Some(directory) = &self.works_in {
            what.push(format!("works in {}", directory.display()));
        }
        if self.maps {
            what.push("has files mapped".to_string());
        }
        write!(f, " {}", what.join(", "))
    }
}

/// All processes that use the mount of this number at `directory`, whose files say that they are on `device`. Processes
/// of other users are seen by the administrator only.
pub(crate) fn find(directory: &Path, mount: u64, device: (u32, u32)) -> Vec<User> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut users: Vec<User> = processes.filter_map(|process| look(process, directory, mount, device)).collect();
    users.sort_unstable_by_key(|user| user.process);
    users
}

fn look(process: u32, directory: &Path, mount: u64, device: (u32, u32)) -> Option<User> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let open_files = open_files(&folder, mount);
    let works_in = ["cwd", "root"].iter().find_map(|link| {
        let place = std::fs::read_link(folder.join(link)).ok()?;
        place.starts_with(directory).then_some(place)
    });
    let maps = std::fs::read_to_string(folder.join("maps")).is_ok_and(|maps| maps_of(&maps, device));
    if open_files == 0 && works_in.is_none() && !maps {
        return None;
    }
    let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default().trim_end().to_string();
    Some(User { process, name, open_files, works_in, maps })
}

/// How many descriptors of a process are of the mount.
fn open_files(folder: &Path, mount: u64) -> usize {
    let entries = std::fs::read_dir(folder.join("fdinfo")).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let id = text.lines().find_map(|line| line.strip_prefix("mnt_id:"));
            id.and_then(|id| id.trim().parse().ok()) == Some(mount)
        })
        .count()
}

/// Whether a line of `/proc/PID/maps` is of a file on `device`: `7f...-7f... r--p 00000000 00:34 12 /mnt/a`.
fn maps_of(maps: &str, (major, minor): (u32, u32)) -> bool {
    let device = format!("{major:02x}:{minor:02x}");
    maps.lines().any(|line| line.split_ascii_whitespace().nth(3) == Some(&device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_described() {
        let user = User { process: 7, name: "less".into(), open_files: 2, works_in: Some("/mnt/a".into()), maps: true };
        assert_eq!(user.to_string(), "process 7 (less) has 2 files open, works in /mnt/a, has files mapped");
        assert!(maps_of("00-01 r--p 00000000 00:34 12   /mnt/a\n", (0, 0x34)));
        assert!(!maps_of("00-01 r--p 00000000 00:34 12   /mnt/a\n", (0, 0x35)));
    }
}
