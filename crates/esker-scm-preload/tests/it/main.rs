//! Programs with the library loaded before theirs, on a pool that this process has mounted.

mod api;
mod children;
#[path = "../../../esker-scm-mount/tests/it/ground.rs"]
#[allow(dead_code, reason = "of the mount's tests")]
mod ground;
mod programs;
mod shim;
