//! Numbers of the protocol document. All of them go over the wire in big-endian order.

/// Begins the server's greeting: `NBDMAGIC`.
pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943;
/// Follows in the greeting, and begins every option: `IHAVEOPT`.
pub(crate) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Begins every reply to an option.
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Begins every request.
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Begins a simple reply.
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Begins a chunk of a structured reply.
pub(crate) const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request without its payload.
pub(crate) const REQUEST_HEADER: usize = 28;
/// Bytes of a simple reply without its data.
pub(crate) const SIMPLE_REPLY: usize = 16;
/// Bytes of a chunk without its payload.
pub(crate) const CHUNK_HEADER: usize = 20;
/// Bytes of an option without its data.
pub(crate) const OPTION_HEADER: usize = 16;
/// Bytes of a reply to an option without its data.
pub(crate) const OPTION_REPLY_HEADER: usize = 20;
/// Zeroes behind the reply to `NBD_OPT_EXPORT_NAME`, unless both sides agreed to leave them out.
pub(crate) const EXPORT_NAME_ZEROES: usize = 124;
/// The longest string, in bytes.
pub(crate) const STRING_MAX: usize = 4096;
/// A payload up to this length is never a reason to end a connection, whatever maximum was advertised.
pub(crate) const PAYLOAD_ALWAYS_TAKEN: u32 = 1 << 25;

/// Flags of the server's greeting.
pub(crate) mod greeting_flag {
    pub(crate) const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub(crate) const NO_ZEROES: u16 = 1 << 1;
}

/// Flags of the client's answer to the greeting.
pub(crate) mod client_flag {
    pub(crate) const FIXED_NEWSTYLE: u32 = 1 << 0;
    pub(crate) const NO_ZEROES: u32 = 1 << 1;
}

/// Flags of an export.
pub(crate) mod export_flag {
    pub(crate) const HAS_FLAGS: u16 = 1 << 0;
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    pub(crate) const SEND_FLUSH: u16 = 1 << 2;
    pub(crate) const SEND_FUA: u16 = 1 << 3;
    pub(crate) const ROTATIONAL: u16 = 1 << 4;
    pub(crate) const SEND_TRIM: u16 = 1 << 5;
    pub(crate) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(crate) const SEND_DF: u16 = 1 << 7;
    pub(crate) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(crate) const SEND_CACHE: u16 = 1 << 10;
    pub(crate) const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Options.
pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub(crate) mod option_reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const META_CONTEXT: u32 = 4;
    /// Set in all errors.
    pub(crate) const IS_ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = IS_ERROR + 1;
    pub(crate) const POLICY: u32 = IS_ERROR + 2;
    pub(crate) const INVALID: u32 = IS_ERROR + 3;
    pub(crate) const PLATFORM: u32 = IS_ERROR + 4;
    pub(crate) const TLS_REQUIRED: u32 = IS_ERROR + 5;
    pub(crate) const UNKNOWN: u32 = IS_ERROR + 6;
    pub(crate) const SHUTDOWN: u32 = IS_ERROR + 7;
    pub(crate) const BLOCK_SIZE_REQUIRED: u32 = IS_ERROR + 8;
    pub(crate) const TOO_BIG: u32 = IS_ERROR + 9;
}

/// Kinds of information about an export.
pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Commands.
pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const CACHE: u16 = 5;
    pub(crate) const WRITE_ZEROES: u16 = 6;
    pub(crate) const BLOCK_STATUS: u16 = 7;
}

/// Flags of commands.
pub(crate) mod command_flag {
    pub(crate) const FUA: u16 = 1 << 0;
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    pub(crate) const DONT_FRAGMENT: u16 = 1 << 2;
    pub(crate) const ONE_EXTENT: u16 = 1 << 3;
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

/// Types of chunks of a structured reply, and the flag of the last one.
pub(crate) mod chunk {
    pub(crate) const DONE: u16 = 1 << 0;

    pub(crate) const NONE: u16 = 0;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const OFFSET_HOLE: u16 = 2;
    pub(crate) const BLOCK_STATUS: u16 = 5;
    /// Set in all errors.
    pub(crate) const IS_ERROR: u16 = 1 << 15;
    pub(crate) const ERROR: u16 = IS_ERROR + 1;
    pub(crate) const ERROR_OFFSET: u16 = IS_ERROR + 2;
}

/// The one metadata context of the document, and its namespace.
pub(crate) const ALLOCATION: &str = "base:allocation";
/// Everything of the document's namespace, in lists of contexts.
pub(crate) const BASE: &str = "base:";
