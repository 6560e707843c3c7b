//! Other processes and programs, and who the process is.

use crate::leaving::{leave_descriptor, leave_everything, leave_inherited};
use crate::mounts;
use crate::next::replace;
use crate::process::set_umask;
use libc::{gid_t, mode_t, pid_t, size_t, uid_t};
use std::ffi::{c_char, c_int, c_ulong, c_void};

/// After a call that made the process somebody else.
fn note_identity(answer: c_int) -> c_int {
    if answer == 0 {
        mounts::forget_connections();
    }
    answer
}

/// After a call by which paths mean something else.
fn note_paths(answer: c_int) -> c_int {
    if answer == 0 {
        mounts::stop();
    }
    answer
}

type Arguments = *const *const c_char;

replace! {
    [vfork] () -> pid_t, or next {
        // The child would share the memory in which files are left to the kernel. POSIX lets it be a fork.
        // SAFETY: what a child may do after vfork(2) it may do after fork(2).
        unsafe { libc::fork() }
    }
    [posix_spawn, posix_spawnp]
    (
        child: *mut pid_t,
        program: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: Arguments,
        environment: Arguments,
    ) -> c_int, or next {
        leave_everything();
        next()
    }
    [system] (command: *const c_char) -> c_int, or next {
        leave_everything();
        next()
    }
    [popen] (command: *const c_char, mode: *const c_char) -> *mut libc::FILE, or next {
        leave_everything();
        next()
    }
    [execve, execvpe] (program: *const c_char, arguments: Arguments, environment: Arguments) -> c_int, or next {
        leave_inherited();
        next()
    }
    [execv, execvp] (program: *const c_char, arguments: Arguments) -> c_int, or next {
        leave_inherited();
        next()
    }
    [fexecve] (fd: c_int, arguments: Arguments, environment: Arguments) -> c_int, or next {
        leave_inherited();
        leave_descriptor(fd);
        next()
    }
    [umask] (mask: mode_t) -> mode_t, or next {
        let before = next();
        set_umask(mask);
        before
    }
    [setuid, seteuid] (user: uid_t) -> c_int, or next { note_identity(next()) }
    [setgid, setegid] (group: gid_t) -> c_int, or next { note_identity(next()) }
    [setreuid] (user: uid_t, effective: uid_t) -> c_int, or next { note_identity(next()) }
    [setregid] (group: gid_t, effective: gid_t) -> c_int, or next { note_identity(next()) }
    [setresuid] (user: uid_t, effective: uid_t, saved: uid_t) -> c_int, or next { note_identity(next()) }
    [setresgid] (group: gid_t, effective: gid_t, saved: gid_t) -> c_int, or next { note_identity(next()) }
    [setgroups] (count: size_t, groups: *const gid_t) -> c_int, or next { note_identity(next()) }
    [initgroups] (user: *const c_char, group: gid_t) -> c_int, or next { note_identity(next()) }
    // The owner asks who the process is, not who it is for files.
    [setfsuid] (user: uid_t) -> c_int, or next {
        mounts::stop();
        next()
    }
    [setfsgid] (group: gid_t) -> c_int, or next {
        mounts::stop();
        next()
    }
    [chroot] (path: *const c_char) -> c_int, or next { note_paths(next()) }
    [unshare] (flags: c_int) -> c_int, or next { note_paths(next()) }
    [setns] (fd: c_int, kind: c_int) -> c_int, or next { note_paths(next()) }
    [mount]
    (source: *const c_char, path: *const c_char, kind: *const c_char, flags: c_ulong, data: *const c_void) -> c_int,
    or next { note_paths(next()) }
}
