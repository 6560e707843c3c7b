//! The C API, by a program in C.

use crate::ground::Ground;
use crate::shim::library;
use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn a_program_in_c_uses_all_of_it() {
    let Some(ground) = Ground::new() else { return };
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("api");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(root.join("tests/it/api.c"));
    compile.arg("-I").arg(root.join("include")).arg(&library);
    match compile.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "skipped: cc: {error}");
            return;
        }
    }
    let run =
        Command::new(&program).arg(ground.path("")).env("LD_LIBRARY_PATH", library.parent().unwrap()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
