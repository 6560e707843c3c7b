//! Where results go. Files appear whole or not at all: they are written beside their place and renamed into it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file that appears under its name only when [`Output::finish`] is called; or standard output.
pub(crate) struct Output {
    place: Option<PathBuf>,
    file: Option<NamedTempFile>,
    /// What went wrong when a writer was closed, since closing has nowhere else to say it.
    closing: Arc<Mutex<Option<io::Error>>>,
}

impl Output {
    /// Opens `path` for writing; `-` is standard output.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { place: None, file: None, closing: Arc::default() });
        }
        if path.is_dir() {
            return Err(Failure::input(format!("{} is a folder, not a file", path.display())));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".esker-")
            .permissions_of_new_files()
            .tempfile_in(folder)
            .map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self { place: Some(path.to_path_buf()), file: Some(file), closing: Arc::default() })
    }

    /// A writer that can be handed to another owner, such as a trace writer.
    pub(crate) fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        match &self.file {
            None => Ok(Box::new(io::stdout())),
            Some(file) => match file.as_file().try_clone() {
                Ok(file) => Ok(Box::new(io::BufWriter::with_capacity(1 << 20, file))),
                Err(error) => Err(Failure::work(error)),
            },
        }
    }

    /// The same, compressed where the file's name ends in `.zst` or `.gz`.
    pub(crate) fn compressing_writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        let writer = self.writer()?;
        let closing = self.closing.clone();
        match self.place.as_ref().and_then(|place| place.extension()).and_then(|extension| extension.to_str()) {
            Some("zst") => {
                let encoder = zstd::Encoder::new(writer, 3).map_err(Failure::work)?;
                let close = |encoder: zstd::Encoder<'static, Box<dyn Write + Send>>| encoder.finish()?.flush();
                Ok(Box::new(Closing { inner: Some(encoder), close, failed: closing }))
            }
            Some("gz") => {
                let encoder = flate2::write::GzEncoder::new(writer, flate2::Compression::default());
                let close = |encoder: flate2::write::GzEncoder<Box<dyn Write + Send>>| encoder.finish()?.flush();
                Ok(Box::new(Closing { inner: Some(encoder), close, failed: closing }))
            }
            _ => Ok(writer),
        }
    }

    /// Puts the file in its place. Every writer has been dropped by now.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if let Some(error) = self.closing.lock().expect("no writer panics while closing").take() {
            return Err(Failure::work(format!("cannot finish the output: {error}")));
        }
        if let (Some(place), Some(file)) = (self.place, self.file) {
            file.persist(&place)
                .map_err(|error| Failure::work(format!("cannot write {}: {}", place.display(), error.error)))?;
        }
        Ok(())
    }
}

/// `tempfile` makes files that only their owner can read; results are ordinary files.
trait OrdinaryPermissions {
    fn permissions_of_new_files(&mut self) -> &mut Self;
}

impl OrdinaryPermissions for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_new_files(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt;
        // The user's umask still takes its share.
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    fn permissions_of_new_files(&mut self) -> &mut Self {
        self
    }
}

/// A writer that has something to say when it is closed, such as the end of a compressed stream.
struct Closing<W, F: Fn(W) -> io::Result<()>> {
    inner: Option<W>,
    close: F,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl<W: Write, F: Fn(W) -> io::Result<()>> Write for Closing<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.as_mut().expect("it is open until dropped").write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.as_mut().expect("it is open until dropped").flush()
    }
}

impl<W, F: Fn(W) -> io::Result<()>> Drop for Closing<W, F> {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.inner.take().map(&self.close) {
            *self.failed.lock().expect("no writer panics while closing") = Some(error);
        }
    }
}

/// Writes `text` to `path` (`-`: standard output), whole or not at all.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    let output = Output::create(path)?;
    let mut writer = output.writer()?;
    let written = writer.write_all(text.as_bytes()).and_then(|()| writer.flush());
    drop(writer);
    ignore_closed_pipe(written).map_err(|error| Failure::work(format!("cannot write {}: {error}", path.display())))?;
    output.finish()
}

/// Writes `value` as indented JSON to `path` (`-`: standard output).
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::work)?;
    text.push('\n');
    write_text(path, &text)
}

/// Prints `text` on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_text(Path::new("-"), text)
}

/// `esker ... | head` is no error.
fn ignore_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
