//! What one server is to serve.

use crate::failure::Failure;
use crate::values::Export;

/// Refuses exports that have one name.
pub(in crate::commands) fn check_names(exports: &[Export]) -> Result<(), Failure> {
    for (index, export) in exports.iter().enumerate() {
        if let Some(other) = exports[..index].iter().find(|other| other.name == export.name) {
            let (file, other) = (export.file.display(), other.file.display());
            let message = format!("clients would call both {other} and {file} `{}`", export.name);
            return Err(Failure::input(message).with_hint(format!("call one of them otherwise: NAME={file}")));
        }
    }
    Ok(())
}
