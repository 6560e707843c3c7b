//! A directory becomes a mount of FUSE: by the system call, or by `fusermount3` for users who may not make that.
//!
//! The crate fuser is given the connection alone. Were it to mount, it would unmount, too, as its session ends: by the
//! path, on which something else lies by then if the mount was taken away by somebody.

use crate::mount_points::HELPER;
use esker_scm_channel::{MOUNT_TYPE, receive_file};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// What all mounts are asked for: the kernel checks permissions, too.
const OPTIONS: &str = "default_permissions";
/// What those of the administrator are asked for beside that.
const FOR_ALL: &str = "allow_other";
/// Where `fusermount3` is told which of its descriptors takes the connection.
const SOCKET: &str = "_FUSE_COMMFD";

/// Mounts `pool` at `directory`: for everybody, with devices and set-user-ID, or for the user of this process alone.
/// The connection with the kernel is returned.
pub(crate) fn mount(pool: &Path, directory: &Path, for_everybody: bool) -> io::Result<OwnedFd> {
    match mount_by_kernel(pool, directory, for_everybody) {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
            mount_by_helper(pool, directory, for_everybody)
        }
        mounted => mounted,
    }
}

fn options(for_everybody: bool) -> String {
    let (_, subtype) = MOUNT_TYPE.split_once('.').expect("a type of FUSE");
    let who = if for_everybody { format!(",{FOR_ALL}") } else { String::new() };
    format!("{OPTIONS},subtype={subtype}{who}")
}

fn mount_by_kernel(pool: &Path, directory: &Path, for_everybody: bool) -> io::Result<OwnedFd> {
    let mode = std::fs::metadata(directory)?.mode();
    let connection = OwnedFd::from(File::options().read(true).write(true).open("/dev/fuse")?);
    let number = connection.as_raw_fd();
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let who = format!("fd={number},rootmode={mode:o},user_id={user},group_id={group}");
    let data = CString::new(format!("{who},{}", options(for_everybody))).expect("there is no zero byte in it");
    let flags = if for_everybody { MountFlags::empty() } else { MountFlags::NODEV | MountFlags::NOSUID };
    rustix::mount::mount(pool, directory, "fuse", flags, Some(data.as_c_str()))?;
    Ok(connection)
}

/// The program gets a socket as its standard input, and sends the connection there.
fn mount_by_helper(pool: &Path, directory: &Path, for_everybody: bool) -> io::Result<OwnedFd> {
    let (ours, its) = UnixStream::pair()?;
    let devices = if for_everybody { ",dev,suid" } else { "" };
    let mut listed = format!("{}{devices},fsname=", options(for_everybody)).into_bytes();
    listed.extend(escaped(pool.as_os_str().as_bytes()));
    let mut command = Command::new(HELPER);
    command.arg("-o").arg(std::ffi::OsStr::from_bytes(&listed)).arg("--").arg(directory).env(SOCKET, "0");
    command.stdin(OwnedFd::from(its)).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn()?;
    // Its end of the socket: if the program ends without a word, nobody has one.
    drop(command);
    let connection = rustix::io::retry_on_intr(|| receive_file(ours.as_fd()));
    let said = child.wait_with_output()?.stderr;
    connection.map_err(|_| io::Error::other(String::from_utf8_lossy(&said).trim().to_string()))
}

/// A value in a list of options, in which commas end a value.
fn escaped(value: &[u8]) -> impl Iterator<Item = u8> {
    value.iter().flat_map(|&byte| {
        let before = matches!(byte, b',' | b'\\').then_some(b'\\');
        before.into_iter().chain([byte])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_commas() {
        assert_eq!(escaped(b"/a, b\\c").collect::<Vec<u8>>(), b"/a\\, b\\\\c");
    }
}
