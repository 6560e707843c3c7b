//! An export that a volume is created or opened on.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use esker_core::{Bytes, Hint, Nanos, RequestKind};
use esker_nbd::{ClientError, Command};
use esker_volume::{
    Backend, BlockingBackend, Buffer, DeviceIo, DeviceLimits, Gather, OpenDevice, Operation, OperationData, WholeBlocks,
};
use thiserror::Error;

use crate::backend::{Abilities, ExportBackend};
use crate::connection::{ConnectError, Connection};
use crate::uri::NbdUri;
use crate::wire::WatchPlace;

/// Why an export is no device.
#[derive(Debug, Error)]
pub enum ExportError {
    /// It cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It can only be read, and was to be written.
    #[error("the export can only be read")]
    ReadOnly,
    /// Its server cannot make anything durable.
    #[error("the server has no flush, so nothing that is written there would ever be durable")]
    NoFlush,
}

impl ExportError {
    /// Returns true if nobody answers there: the device is missing.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Connect(ConnectError::Unreachable(_)))
    }

    /// Returns true if its server is there, and fails.
    pub fn fails(&self) -> bool {
        matches!(self, Self::Connect(ConnectError::Lost(_)))
    }
}

impl Hint for ExportError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Connect(ConnectError::Unreachable(error)) if error.kind() == ErrorKind::PermissionDenied => {
                "you may not use that socket: ask who runs the server"
            }
            Self::Connect(ConnectError::Unreachable(_)) => "start the server, or correct the URI",
            Self::Connect(ConnectError::Certificates(_)) => {
                "the folder has the ca-cert.pem of the server's authority and, if the server wants them, \
                 client-cert.pem and client-key.pem"
            }
            Self::Connect(ConnectError::Lost(_)) => "look at what the server says",
            Self::Connect(ConnectError::Refused(ClientError::Refused { option: "TLS", .. })) => {
                "nbd:// and nbd+unix:// reach a server without TLS"
            }
            Self::Connect(ConnectError::Refused(ClientError::Refused { reply: "TLS is required", .. })) => {
                "say nbds:// or nbds+unix://, and ?tls-certificates=/FOLDER"
            }
            Self::Connect(ConnectError::Refused(ClientError::Refused { .. })) => {
                "name an export that the server has: `nbdinfo --list` shows them"
            }
            Self::Connect(ConnectError::Refused(_)) => "is that an NBD server? `nbdinfo` shows what it says",
            Self::ReadOnly => "have the server offer it for writing",
            Self::NoFlush => "use a server that offers flush (NBD_FLAG_SEND_FLUSH)",
        };
        Some(text.to_string())
    }
}

/// An export of an NBD server that a volume is opened on.
///
/// It is as large as the server says when it is opened. A connection that is lost is not made again: the device has
/// failed, until the volume is opened again.
pub struct ExportDevice {
    name: String,
    /// What the server says that it is.
    description: Option<String>,
    backend: Box<dyn Backend>,
    socket: Arc<OwnedFd>,
    watch: WatchPlace,
    limits: DeviceLimits,
    io: DeviceIo,
    /// Whether it was opened to be read.
    only_reads: bool,
    /// Whether its server is told to make anything durable. One that offers it to be read has nothing to.
    flushes: bool,
}

impl ExportDevice {
    /// Connects to the export at `uri`. Errors call it `name`; once it serves, waits of `io` watch it. A server
    /// gets ten seconds for each of its addresses to accept the connection, and 30 seconds to open the export.
    ///
    /// # Errors
    /// If it cannot be reached or cannot be a device.
    pub fn open(
        name: impl Into<String>,
        uri: &NbdUri,
        io: &DeviceIo,
        limits: DeviceLimits,
    ) -> Result<Self, ExportError> {
        Self::open_for(name.into(), uri, io, limits, false)
    }

    /// Connects to an export that is only read, as [`Self::open`]. Its server may offer it to be read alone; then it is
    /// asked for nothing else.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn open_to_read(
        name: impl Into<String>,
        uri: &NbdUri,
        io: &DeviceIo,
        limits: DeviceLimits,
    ) -> Result<Self, ExportError> {
        Self::open_for(name.into(), uri, io, limits, true)
    }

    fn open_for(
        name: String,
        uri: &NbdUri,
        io: &DeviceIo,
        limits: DeviceLimits,
        only_reads: bool,
    ) -> Result<Self, ExportError> {
        let (connection, info) = Connection::open(uri)?;
        let flushes = !info.is_read_only() && info.takes(Command::Flush);
        match only_reads {
            false if info.is_read_only() => return Err(ExportError::ReadOnly),
            false if !flushes => return Err(ExportError::NoFlush),
            _ => {}
        }
        let (socket, watch) = (Arc::clone(connection.wire().socket()), Arc::clone(connection.wire().watch_place()));
        let abilities = Abilities::of(&info);
        let backend = ExportBackend::new(connection, abilities);
        // Requests are whole sectors.
        let backend: Box<dyn Backend> = match abilities.block > Bytes::SECTOR.0 {
            true => Box::new(WholeBlocks::of(Box::new(backend), abilities.block)),
            false => Box::new(backend),
        };
        let (description, io) = (info.description, io.clone());
        Ok(Self { name, description, backend, socket, watch, limits, io, only_reads, flushes })
    }

    /// Performs one operation, and returns its memory.
    fn perform(
        &mut self,
        kind: RequestKind,
        offset: u64,
        length: u64,
        data: OperationData,
    ) -> io::Result<OperationData> {
        if self.only_reads && !matches!(kind, RequestKind::Read | RequestKind::Flush) {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        self.backend.submit(Nanos::ZERO, 0, Operation::new(kind, offset, length, data));
        let mut ended = Vec::new();
        while ended.is_empty() {
            self.backend.take_ended(&mut ended);
        }
        let ended = ended.remove(0);
        ended.result.map(|()| ended.data)
    }
}

impl BlockingBackend for ExportDevice {
    fn capacity(&self) -> Bytes {
        self.backend.capacity()
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let memory = OperationData::Fill(Buffer::zeroed(buffer.len()));
        let data = self.perform(RequestKind::Read, offset, buffer.len() as u64, memory)?;
        if let OperationData::Fill(memory) = data {
            buffer.copy_from_slice(&memory);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &mut [IoSlice<'_>], durable: bool) -> io::Result<()> {
        let length = data.iter().map(|slice| slice.len()).sum();
        let mut memory = Buffer::zeroed(length);
        let mut rest = memory.get_mut().expect("a new buffer has one owner");
        for slice in data.iter() {
            let (begin, more) = rest.split_at_mut(slice.len());
            begin.copy_from_slice(slice);
            rest = more;
        }
        let kind = RequestKind::Write { fua: durable };
        self.perform(kind, offset, length as u64, OperationData::Take(Gather::whole(memory))).map(drop)
    }

    fn write_zeroes(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.perform(RequestKind::WriteZeroes { fua: durable }, offset, length, OperationData::None).map(drop)
    }

    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.perform(RequestKind::Trim, offset, length, OperationData::None).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.flushes {
            return Ok(());
        }
        self.perform(RequestKind::Flush, 0, 0, OperationData::None).map(drop)
    }
}

impl OpenDevice for ExportDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }

    /// What is read comes from the server each time.
    fn forget_cached(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }

    fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn limits(&self) -> DeviceLimits {
        self.limits
    }

    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        let Self { mut backend, socket, watch, io, .. } = *self;
        match io.watch(socket) {
            Ok(found) => _ = watch.set(found),
            // Nobody would learn of its answers.
            Err(_) => backend.abandon(),
        }
        backend
    }
}
