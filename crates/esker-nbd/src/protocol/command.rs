//! Commands, and what a request has to keep to.

use super::error::ErrorNumber;
use super::extent::BlockSizes;
use super::fields::Fields;
use super::numbers::{REQUEST_HEADER, REQUEST_MAGIC, command, command_flag, export_flag};

/// What a client asks for. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Returns bytes.
    Read {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// All of them have to come in one piece.
        in_one_piece: bool,
    },
    /// Stores the bytes of the payload.
    Write {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// Answered only when the bytes are on stable storage (`FUA`).
        durable: bool,
    },
    /// Answered when all writes that were answered before are on stable storage.
    Flush,
    /// The bytes are no longer needed.
    Trim {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// Answered only when the change is on stable storage (`FUA`).
        durable: bool,
    },
    /// The bytes will be read soon.
    Cache {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
    },
    /// Has the bytes read as zeroes.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// Answered only when the zeroes are on stable storage (`FUA`).
        durable: bool,
        /// The bytes have to stay allocated.
        no_hole: bool,
        /// Fails with [`ErrorNumber::NotSupported`] if it takes as long as a write.
        only_if_fast: bool,
    },
    /// Which bytes are allocated.
    BlockStatus {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// Only the first extent is wanted.
        one_extent: bool,
    },
}

impl Command {
    /// First byte and number of bytes; both are zero for a flush.
    pub fn range(self) -> (u64, u32) {
        match self {
            Self::Flush => (0, 0),
            Self::Read { offset, length, .. }
            | Self::Write { offset, length, .. }
            | Self::Trim { offset, length, .. }
            | Self::Cache { offset, length }
            | Self::WriteZeroes { offset, length, .. }
            | Self::BlockStatus { offset, length, .. } => (offset, length),
        }
    }

    /// Bytes that its request or its reply carries.
    pub(crate) fn payload(self) -> u32 {
        match self {
            Self::Read { length, .. } | Self::Write { length, .. } => length,
            _ => 0,
        }
    }

    /// Its request.
    pub(crate) fn header(self, cookie: u64) -> Header {
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let (kind, flags) = match self {
            Self::Read { in_one_piece, .. } => (command::READ, flag(in_one_piece, command_flag::DONT_FRAGMENT)),
            Self::Write { durable, .. } => (command::WRITE, flag(durable, command_flag::FUA)),
            Self::Flush => (command::FLUSH, 0),
            Self::Trim { durable, .. } => (command::TRIM, flag(durable, command_flag::FUA)),
            Self::Cache { .. } => (command::CACHE, 0),
            Self::WriteZeroes { durable, no_hole, only_if_fast, .. } => (
                command::WRITE_ZEROES,
                flag(durable, command_flag::FUA)
                    | flag(no_hole, command_flag::NO_HOLE)
                    | flag(only_if_fast, command_flag::FAST_ZERO),
            ),
            Self::BlockStatus { one_extent, .. } => (command::BLOCK_STATUS, flag(one_extent, command_flag::ONE_EXTENT)),
        };
        let (offset, length) = self.range();
        Header { flags, kind, cookie, offset, length }
    }
}

/// A request as it goes over the wire, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) flags: u16,
    pub(crate) kind: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// Why a request is refused, with a sentence for people.
pub(crate) type Refusal = (ErrorNumber, &'static str);

/// What was offered to the client, which its requests have to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Bytes of the export.
    pub(crate) size: u64,
    /// Transmission flags.
    pub(crate) flags: u16,
    pub(crate) sizes: BlockSizes,
    /// Structured replies were agreed on.
    pub(crate) structured: bool,
    /// `base:allocation` was agreed on.
    pub(crate) block_status: bool,
}

impl Offer {
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

impl Header {
    /// Reads a request; `None` if it does not begin with the magic number.
    pub(crate) fn read(bytes: &[u8; REQUEST_HEADER]) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.u32()? != REQUEST_MAGIC {
            return None;
        }
        let (flags, kind) = (fields.u16()?, fields.u16()?);
        Some(Self { flags, kind, cookie: fields.u64()?, offset: fields.u64()?, length: fields.u32()? })
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&REQUEST_MAGIC.to_be_bytes());
        to.extend_from_slice(&self.flags.to_be_bytes());
        to.extend_from_slice(&self.kind.to_be_bytes());
        to.extend_from_slice(&self.cookie.to_be_bytes());
        to.extend_from_slice(&self.offset.to_be_bytes());
        to.extend_from_slice(&self.length.to_be_bytes());
    }

    /// The command, if the request keeps to what was offered.
    pub(crate) fn command(&self, offered: &Offer) -> Result<Command, Refusal> {
        let command = self.decode()?;
        if self.flags & !self.flags_allowed(offered) != 0 {
            return Err((ErrorNumber::Invalid, "the command does not have one of these flags"));
        }
        let changes = matches!(command, Command::Write { .. } | Command::Trim { .. } | Command::WriteZeroes { .. });
        if changes && offered.has(export_flag::READ_ONLY) {
            return Err((ErrorNumber::NotPermitted, "the export is read-only"));
        }
        match command {
            Command::Flush if self.offset != 0 || self.length != 0 => {
                Err((ErrorNumber::Invalid, "a flush has neither offset nor length"))
            }
            Command::Flush => Ok(command),
            Command::BlockStatus { .. } if !offered.block_status => {
                Err((ErrorNumber::Invalid, "no metadata context was agreed on"))
            }
            _ => self.check_range(command, offered).map(|()| command),
        }
    }

    fn decode(&self) -> Result<Command, Refusal> {
        let &Self { flags, offset, length, .. } = self;
        let has = |flag: u16| flags & flag != 0;
        let durable = has(command_flag::FUA);
        Ok(match self.kind {
            command::READ => Command::Read { offset, length, in_one_piece: has(command_flag::DONT_FRAGMENT) },
            command::WRITE => Command::Write { offset, length, durable },
            command::FLUSH => Command::Flush,
            command::TRIM => Command::Trim { offset, length, durable },
            command::CACHE => Command::Cache { offset, length },
            command::WRITE_ZEROES => {
                let (no_hole, only_if_fast) = (has(command_flag::NO_HOLE), has(command_flag::FAST_ZERO));
                Command::WriteZeroes { offset, length, durable, no_hole, only_if_fast }
            }
            command::BLOCK_STATUS => Command::BlockStatus { offset, length, one_extent: has(command_flag::ONE_EXTENT) },
            _ => return Err((ErrorNumber::Invalid, "the command is unknown")),
        })
    }

    /// The document allows FUA on every command: clients exist that set it on reads.
    fn flags_allowed(&self, offered: &Offer) -> u16 {
        let offers = |flag: u16, allows: u16| if offered.has(flag) { allows } else { 0 };
        let own = match self.kind {
            command::READ => offers(export_flag::SEND_DF, command_flag::DONT_FRAGMENT),
            command::WRITE_ZEROES => {
                command_flag::NO_HOLE | offers(export_flag::SEND_FAST_ZERO, command_flag::FAST_ZERO)
            }
            command::BLOCK_STATUS => command_flag::ONE_EXTENT,
            _ => 0,
        };
        own | offers(export_flag::SEND_FUA, command_flag::FUA)
    }

    fn check_range(&self, command: Command, offered: &Offer) -> Result<(), Refusal> {
        let sizes = offered.sizes;
        if self.length == 0 {
            return Err((ErrorNumber::Invalid, "the length is zero"));
        }
        if command.payload() > sizes.maximum {
            let is_read = matches!(command, Command::Read { .. });
            let error = if is_read && offered.structured { ErrorNumber::Overflow } else { ErrorNumber::Invalid };
            return Err((error, "the length is more than the advertised maximum"));
        }
        if self.offset.checked_add(u64::from(self.length)).is_none_or(|end| end > offered.size) {
            let fills = matches!(command, Command::Write { .. } | Command::WriteZeroes { .. });
            let error = if fills { ErrorNumber::NoSpace } else { ErrorNumber::Invalid };
            return Err((error, "the range ends beyond the export"));
        }
        let beyond_blocks = u64::from(sizes.minimum) - 1;
        if (self.offset | u64::from(self.length)) & beyond_blocks != 0 {
            return Err((ErrorNumber::Invalid, "offset or length is no multiple of the minimum block size"));
        }
        Ok(())
    }
}
