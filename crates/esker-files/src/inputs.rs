//! The files that the program reads. Whatever it reads is an input of the command, and no input is ever replaced: every
//! file is opened for reading here, is remembered by its identity, and [`crate::Destination`] asks for it before it
//! changes anything. So no command has to list what it reads, and none can forget a file that another one names.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Stdin};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::identity::{Identity, identities, of_descriptor};

/// Everything that this process has read or said that it will read.
static INPUTS: Mutex<Vec<Input>> = Mutex::new(Vec::new());

/// A file that is read.
#[derive(Debug)]
struct Input {
    /// Its path as it was opened; `None` for standard input.
    path: Option<PathBuf>,
    identities: Vec<Identity>,
    born: Option<SystemTime>,
}

impl Input {
    fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "standard input".to_string(), |path| path.display().to_string())
    }

    /// Whether the file is gone and another one, which came into being at `born`, has its inode number now.
    fn is_gone(&self, born: Option<SystemTime>) -> bool {
        let path_is_free = self.path.as_ref().is_some_and(|path| fs::symlink_metadata(path).is_err());
        path_is_free && self.born.zip(born).is_some_and(|(old, new)| old != new)
    }
}

/// Opens the file at `path` for reading. It is an input from now on.
///
/// # Errors
/// Those of [`File::open`].
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// Like [`open`], with options of the caller's own.
///
/// # Errors
/// Those of [`OpenOptions::open`].
pub fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    remember(Some(path), &file.metadata()?);
    Ok(file)
}

/// Reads the whole file at `path`. It is an input from now on.
///
/// # Errors
/// Those of [`fs::read`]; [`io::ErrorKind::FileTooLarge`] if it has more than [`WHOLE_MAX`] bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(WHOLE_MAX, open(path)?)
}

/// Reads the whole file at `path` as text. It is an input from now on.
///
/// # Errors
/// Those of [`read`]; [`io::ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(read(path)?).map_err(not_text)
}

/// The most bytes of a file that is read as a whole. Settings and results have megabytes at most, and some devices,
/// such as /dev/zero, never end.
pub const WHOLE_MAX: u64 = 1 << 30;

fn read_at_most(most: u64, file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let what = format!("it has more than {} MiB, and is to be read as a whole", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Standard input. What it is redirected from is an input from now on.
pub fn stdin() -> Stdin {
    protect(Path::new("-"));
    io::stdin()
}

/// Makes the file at `path` an input before it is opened; `-` is standard input. For what will be read later, and for
/// what a file of settings names. A path that leads nowhere is none: opening it will report that.
pub fn protect(path: &Path) {
    if path == Path::new("-") {
        of_descriptor(&io::stdin()).iter().for_each(|metadata| remember(None, metadata));
    } else {
        fs::metadata(path).iter().for_each(|metadata| remember(Some(path), metadata));
    }
}

/// The name of the input that has one of these identities, if any; `metadata` is that of the file to be written.
pub(crate) fn input_among(wanted: &[Identity], metadata: Option<&Metadata>) -> Option<String> {
    let born = metadata.and_then(|metadata| metadata.created().ok());
    let is = |input: &&Input| {
        let same = input.identities.iter().any(|one| wanted.iter().any(|other| one.overlaps(other)));
        same && !input.is_gone(born)
    };
    all().iter().find(is).map(Input::name)
}

fn remember(path: Option<&Path>, metadata: &Metadata) {
    let found = identities(metadata);
    let mut all = all();
    let known = |input: &Input| input.identities == found && input.path.as_deref() == path;
    if !found.is_empty() && !all.iter().any(known) {
        all.push(Input { path: path.map(Path::to_path_buf), identities: found, born: metadata.created().ok() });
    }
}

fn all() -> MutexGuard<'static, Vec<Input>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileError, FileTarget};

    #[test]
    fn what_was_read_before_or_after_the_output_was_prepared_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        let links = ["hard", "soft"].map(|name| folder.path().join(name));
        fs::write(&path, "input").unwrap();
        fs::hard_link(&path, &links[0]).unwrap();
        std::os::unix::fs::symlink(&path, &links[1]).unwrap();
        let refused = |error: FileError| assert!(matches!(error, FileError::Input { .. }), "{error}");
        for name in [&path, &links[0], &links[1]] {
            // Nobody has read it yet.
            let prepared = FileTarget::find(name).unwrap().prepare().unwrap();
            assert_eq!(read_to_string(&path).unwrap(), "input");
            refused(prepared.commit().unwrap_err());
            refused(FileTarget::find(name).unwrap().prepare().unwrap_err());
            refused(crate::write(name, b"output").unwrap_err());
            all().retain(|input| input.path.as_ref() != Some(&path));
        }
        assert_eq!(fs::read(&path).unwrap(), b"input");
        crate::write(&path, b"output").unwrap();
    }

    #[test]
    fn a_file_that_a_name_was_given_to_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        fs::write(&path, "input").unwrap();
        let output = folder.path().join("output");
        let prepared = FileTarget::find(&output).unwrap().prepare().unwrap();
        read(&path).unwrap();
        fs::hard_link(&path, &output).unwrap();
        assert!(matches!(prepared.commit().unwrap_err(), FileError::Input { .. }));
        assert_eq!(fs::read(&path).unwrap(), b"input");
    }

    #[test]
    fn what_never_ends_is_not_read_as_a_whole() {
        assert_eq!(read_at_most(4, &b"four"[..]).unwrap(), b"four");
        assert_eq!(read_at_most(4, io::repeat(0)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_that_is_gone_is_no_input() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone");
        fs::write(&path, "input").unwrap();
        read(&path).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let found = identities(&metadata);
        fs::remove_file(&path).unwrap();
        // Another file may get its inode number. It came into being later.
        fs::write(folder.path().join("other"), "output").unwrap();
        let later = fs::metadata(folder.path().join("other")).unwrap();
        if metadata.created().is_ok_and(|born| later.created().is_ok_and(|other| other != born)) {
            assert_eq!(input_among(&found, Some(&later)), None);
        }
        assert!(input_among(&found, None).is_some(), "where nobody knows, it is the input");
    }
}
