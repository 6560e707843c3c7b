//! One output of a command.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use esker_files::Destination;
use serde::Serialize;

use crate::failure::Failure;

/// The compression that the name of a file asks for, whatever its letters: `zst` or `gz`.
pub(crate) fn compression_of(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?;
    ["zst", "gz"].into_iter().find(|name| ending.eq_ignore_ascii_case(name))
}

/// An output: a file that appears under its name only at [`Output::finish`], or standard output, a device, or a FIFO.
pub(crate) struct Output {
    path: PathBuf,
    destination: Destination,
    /// The error of closing a writer, which can report it nowhere else.
    closing: Arc<Mutex<Option<io::Error>>>,
}

impl Output {
    pub(super) fn new(path: &Path, destination: Destination) -> Self {
        Self { path: path.to_path_buf(), destination, closing: Arc::default() }
    }

    /// Whether the output is standard output, by whatever name.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.destination.is_standard_output()
    }

    /// Where it is, as the user named it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, to be written as it is.
    pub(crate) fn file(&mut self) -> Result<File, Failure> {
        Ok(self.destination.open()?)
    }

    /// A writer that can be passed on, for example to a trace writer. It compresses if the name of the file ends in
    /// `.zst` or `.gz`.
    pub(crate) fn writer(&mut self) -> Result<Box<dyn Write + Send>, Failure> {
        let file = self.destination.open()?;
        let writer: Box<dyn Write + Send> = Box::new(io::BufWriter::with_capacity(1 << 20, file));
        let closing = self.closing.clone();
        match compression_of(&self.path) {
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

    /// Turns an error of a writer into a failure with the name that the user gave. If the reader went away, that is no
    /// error.
    pub(crate) fn failed(&self, error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::closed_pipe(),
            _ if self.path.as_os_str() == "-" => Failure::work(format!("cannot write standard output: {error}")),
            _ => self.destination.failed(error).into(),
        }
    }

    /// Puts the file in its place. All writers must have been dropped.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if let Some(error) = self.closing.lock().expect("no writer panics while closing").take() {
            return Err(self.failed(error));
        }
        Ok(self.destination.commit()?)
    }

    /// Writes `text`, as a whole or not at all.
    pub(crate) fn write_text(mut self, text: &str) -> Result<(), Failure> {
        let mut writer = self.writer()?;
        let written = writer.write_all(text.as_bytes()).and_then(|()| writer.flush());
        drop(writer);
        match written.map_err(|error| self.failed(error)) {
            // The reader has seen enough; other results are still wanted.
            Err(failure) if failure.is_closed_pipe() => Ok(()),
            Err(failure) => Err(failure),
            Ok(()) => self.finish(),
        }
    }

    /// Writes `value` as indented JSON.
    pub(crate) fn write_json(self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(Failure::work)?;
        text.push('\n');
        self.write_text(&text)
    }
}

/// A writer that writes more when it is closed, such as the end of a compressed stream.
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
