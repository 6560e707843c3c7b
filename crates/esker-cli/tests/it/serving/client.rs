//! A client as small as can be, and none of ours: it chooses the export by name, and gets simple replies.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Errors as replies have them.
pub(super) const EPERM: u32 = 1;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;

pub(super) struct Client {
    stream: UnixStream,
    /// Bytes of the export.
    pub(super) size: u64,
    pub(super) is_read_only: bool,
}

/// Why a request was not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The server is gone.
    Gone,
    /// The server answered with this error.
    Answered(u32),
}

impl From<io::Error> for Failed {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Client {
    /// Opens the default export.
    pub(super) fn connect(socket: &Path) -> Self {
        Self::connect_to(socket, "")
    }

    /// Opens the export of this name.
    pub(super) fn connect_to(socket: &Path, name: &str) -> Self {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        // The client's flags: fixed newstyle, no zeroes; then the option to choose an export.
        let (flags, length) = (3u32.to_be_bytes(), (name.len() as u32).to_be_bytes());
        let option = [&flags[..], b"IHAVEOPT", &1u32.to_be_bytes(), &length, name.as_bytes()].concat();
        stream.write_all(&option).unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        let size = u64::from_be_bytes(export[..8].try_into().unwrap());
        let flags = u16::from_be_bytes(export[8..].try_into().unwrap());
        Self { stream, size, is_read_only: flags & 2 != 0 }
    }

    fn ask(&mut self, command: u16, offset: u64, length: usize, data: &[u8]) -> Result<(), Failed> {
        self.ask_with(0, command, offset, length, data)
    }

    fn ask_with(&mut self, flags: u16, command: u16, offset: u64, length: usize, data: &[u8]) -> Result<(), Failed> {
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        // The cookie is not looked at: there is one request at a time.
        request.extend(flags.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend([0; 8]);
        request.extend(offset.to_be_bytes());
        request.extend((length as u32).to_be_bytes());
        request.extend(data);
        self.stream.write_all(&request)?;
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        assert_eq!(reply[..4], 0x6744_6698u32.to_be_bytes());
        match u32::from_be_bytes(reply[4..8].try_into().unwrap()) {
            0 => Ok(()),
            error => Err(Failed::Answered(error)),
        }
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Failed> {
        self.ask(WRITE, offset, data.len(), data)
    }

    /// Writes with FUA.
    pub(super) fn write_durably(&mut self, offset: u64, data: &[u8]) -> Result<(), Failed> {
        self.ask_with(1, WRITE, offset, data.len(), data)
    }

    pub(super) fn trim(&mut self, offset: u64, length: usize) -> Result<(), Failed> {
        self.ask(TRIM, offset, length, &[])
    }

    pub(super) fn flush(&mut self) -> Result<(), Failed> {
        self.ask(FLUSH, 0, 0, &[])
    }

    pub(super) fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, Failed> {
        self.ask(READ, offset, length, &[])?;
        let mut data = vec![0; length];
        self.stream.read_exact(&mut data)?;
        Ok(data)
    }
}
