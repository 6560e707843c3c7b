//! What clients ask and owners answer, as bytes. Numbers are little-endian; a path has its length before it.

use crate::codec::{Malformed, Reader, Writer, put_attributes, take_attributes};
use esker_scm::Attributes;

/// Most bytes of a message: two paths of 4,095 bytes, and what goes with them.
pub const MESSAGE_MAX: usize = 8320;
/// Most bytes of an answer.
pub const REPLY_MAX: usize = 128;

/// What a client wants a file of the kernel for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// For locks alone: data do not go through it.
    Locks,
    /// For whatever the kernel does with files: other processes inherit it, or it is mapped.
    Anything,
}

/// A call of a client. Paths begin at the root of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Opens a file, by the flags of open(2).
    Open {
        /// Its path.
        path: &'a [u8],
        /// Flags of open(2).
        flags: u32,
        /// Permissions of a new file, less those that the umask takes.
        permissions: u16,
    },
    /// Closes a file. The answer is not waited for.
    Close {
        /// The file.
        handle: u32,
    },
    /// Reads into the window.
    Read {
        /// The file.
        handle: u32,
        /// From which byte on.
        offset: u64,
        /// Most bytes.
        length: u32,
    },
    /// Writes what is in the window.
    Write {
        /// The file.
        handle: u32,
        /// Where; none means at the end.
        offset: Option<u64>,
    },
    /// Shares a file, and asks where pages from this one on lie.
    Share {
        /// The file.
        handle: u32,
        /// The first page.
        from: u64,
        /// Behind the last page.
        to: u64,
        /// Whether the pool is to come through the socket.
        wants_pool: bool,
    },
    /// Asks for the attributes of an open file.
    Attributes {
        /// The file.
        handle: u32,
    },
    /// Asks for the attributes of a path.
    Look {
        /// The path.
        path: &'a [u8],
    },
    /// Sets the size of an open file.
    SetSize {
        /// The file.
        handle: u32,
        /// Its size in bytes.
        size: u64,
    },
    /// Makes an open file durable.
    Sync {
        /// The file.
        handle: u32,
        /// Whether times may stay as they are: fdatasync.
        is_data: bool,
    },
    /// Asks for a file of the kernel, which comes through the socket.
    Kernel {
        /// The file.
        handle: u32,
        /// What for.
        purpose: Purpose,
    },
    /// A file of the kernel that was for locks is for anything now.
    Expose {
        /// The file.
        handle: u32,
    },
    /// Removes a name of a file.
    Unlink {
        /// The path.
        path: &'a [u8],
    },
    /// Removes an empty directory.
    RemoveDirectory {
        /// The path.
        path: &'a [u8],
    },
    /// Makes a directory.
    MakeDirectory {
        /// The path.
        path: &'a [u8],
        /// Its permissions, less those that the umask takes.
        permissions: u16,
    },
    /// Renames.
    Rename {
        /// What.
        from: &'a [u8],
        /// The new path.
        to: &'a [u8],
    },
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Done,
    /// The client has to ask the kernel: a symbolic link is in the way, the kernel has the file open, or it is no file.
    UseKernel,
    /// An error, by the system's number.
    Failed(i32),
    /// The file is open.
    Opened {
        /// How the client calls it.
        handle: u32,
        /// Its inode.
        number: u64,
    },
    /// How many bytes were read, or written and where that was.
    Moved {
        /// Bytes.
        length: u32,
        /// Behind the last of them.
        end: u64,
    },
    /// The file is shared. Stretches are in the window, each of three numbers of eight bytes.
    Shared {
        /// Its record on the board.
        record: u32,
        /// How many stretches.
        stretches: u32,
    },
    /// Attributes.
    Found(Attributes),
}

/// Longest path of a request.
const PATH_MAX: usize = 4095;

impl<'a> Request<'a> {
    fn paths(&self) -> [&'a [u8]; 2] {
        match *self {
            Request::Open { path, .. }
            | Request::Look { path }
            | Request::Unlink { path }
            | Request::RemoveDirectory { path }
            | Request::MakeDirectory { path, .. } => [path, &[]],
            Request::Rename { from, to } => [from, to],
            _ => [&[], &[]],
        }
    }

    /// Bytes of its paths.
    pub fn paths_length(&self) -> usize {
        self.paths().iter().map(|path| path.len()).sum()
    }

    /// Whether its paths are short enough to be sent.
    pub fn fits(&self) -> bool {
        self.paths().iter().all(|path| path.len() <= PATH_MAX)
    }

    /// Writes the message; how long it is. The request must fit, and there must be room for it.
    pub fn encode(&self, bytes: &mut [u8]) -> usize {
        let mut writer = Writer::new(bytes);
        let w = &mut writer;
        match *self {
            Request::Open { path, flags, permissions } => w.byte(0).word(flags).word(permissions.into()).path(path),
            Request::Close { handle } => w.byte(1).word(handle),
            Request::Read { handle, offset, length } => w.byte(2).word(handle).long(offset).word(length),
            Request::Write { handle, offset } => {
                w.byte(3).word(handle).byte(offset.is_some().into()).long(offset.unwrap_or_default())
            }
            Request::Share { handle, from, to, wants_pool } => {
                w.byte(4).word(handle).long(from).long(to).byte(wants_pool.into())
            }
            Request::Attributes { handle } => w.byte(5).word(handle),
            Request::Look { path } => w.byte(6).path(path),
            Request::SetSize { handle, size } => w.byte(7).word(handle).long(size),
            Request::Sync { handle, is_data } => w.byte(8).word(handle).byte(is_data.into()),
            Request::Kernel { handle, purpose } => w.byte(9).word(handle).byte((purpose == Purpose::Anything).into()),
            Request::Expose { handle } => w.byte(10).word(handle),
            Request::Unlink { path } => w.byte(11).path(path),
            Request::RemoveDirectory { path } => w.byte(12).path(path),
            Request::MakeDirectory { path, permissions } => w.byte(13).word(permissions.into()).path(path),
            Request::Rename { from, to } => w.byte(14).path(from).path(to),
        };
        writer.length()
    }

    /// The request that the bytes say.
    ///
    /// # Errors
    /// They say none.
    pub fn decode(bytes: &'a [u8]) -> Result<Request<'a>, Malformed> {
        let mut reader = Reader::new(bytes);
        let r = &mut reader;
        let permissions = |word: u32| u16::try_from(word).map_err(|_| Malformed);
        let request = match r.byte()? {
            0 => Request::Open { flags: r.word()?, permissions: permissions(r.word()?)?, path: r.path()? },
            1 => Request::Close { handle: r.word()? },
            2 => Request::Read { handle: r.word()?, offset: r.long()?, length: r.word()? },
            3 => {
                let (handle, is_placed, offset) = (r.word()?, r.byte()? != 0, r.long()?);
                Request::Write { handle, offset: is_placed.then_some(offset) }
            }
            4 => {
                let (handle, from, to) = (r.word()?, r.long()?, r.long()?);
                Request::Share { handle, from, to, wants_pool: r.byte()? != 0 }
            }
            5 => Request::Attributes { handle: r.word()? },
            6 => Request::Look { path: r.path()? },
            7 => Request::SetSize { handle: r.word()?, size: r.long()? },
            8 => Request::Sync { handle: r.word()?, is_data: r.byte()? != 0 },
            9 => {
                let (handle, is_for_anything) = (r.word()?, r.byte()? != 0);
                Request::Kernel { handle, purpose: if is_for_anything { Purpose::Anything } else { Purpose::Locks } }
            }
            10 => Request::Expose { handle: r.word()? },
            11 => Request::Unlink { path: r.path()? },
            12 => Request::RemoveDirectory { path: r.path()? },
            13 => Request::MakeDirectory { permissions: permissions(r.word()?)?, path: r.path()? },
            14 => Request::Rename { from: r.path()?, to: r.path()? },
            _ => return Err(Malformed),
        };
        reader.end(request)
    }
}

impl Reply {
    /// Writes the message; how long it is.
    pub fn encode(&self, bytes: &mut [u8; REPLY_MAX]) -> usize {
        let mut writer = Writer::new(bytes);
        let w = &mut writer;
        match *self {
            Reply::Done => w.byte(0),
            Reply::UseKernel => w.byte(1),
            Reply::Failed(error) => w.byte(2).word(error.cast_unsigned()),
            Reply::Opened { handle, number } => w.byte(3).word(handle).long(number),
            Reply::Moved { length, end } => w.byte(4).word(length).long(end),
            Reply::Shared { record, stretches } => w.byte(5).word(record).word(stretches),
            Reply::Found(attributes) => put_attributes(w.byte(6), &attributes),
        };
        writer.length()
    }

    /// The answer that the bytes say.
    ///
    /// # Errors
    /// They say none.
    pub fn decode(bytes: &[u8]) -> Result<Reply, Malformed> {
        let mut reader = Reader::new(bytes);
        let r = &mut reader;
        let reply = match r.byte()? {
            0 => Reply::Done,
            1 => Reply::UseKernel,
            2 => Reply::Failed(r.word()?.cast_signed()),
            3 => Reply::Opened { handle: r.word()?, number: r.long()? },
            4 => Reply::Moved { length: r.word()?, end: r.long()? },
            5 => Reply::Shared { record: r.word()?, stretches: r.word()? },
            6 => Reply::Found(take_attributes(r)?),
            _ => return Err(Malformed),
        };
        reader.end(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_come_as_they_were_sent() {
        let long = vec![b'x'; PATH_MAX];
        let requests = [
            Request::Open { path: b"d/a", flags: 0o102, permissions: 0o640 },
            Request::Close { handle: 1 },
            Request::Read { handle: 2, offset: u64::MAX, length: 3 },
            Request::Write { handle: 4, offset: Some(5) },
            Request::Write { handle: 4, offset: None },
            Request::Share { handle: 6, from: 7, to: 8, wants_pool: true },
            Request::Attributes { handle: 9 },
            Request::Look { path: b"" },
            Request::SetSize { handle: 10, size: 11 },
            Request::Sync { handle: 12, is_data: true },
            Request::Kernel { handle: 13, purpose: Purpose::Locks },
            Request::Kernel { handle: 13, purpose: Purpose::Anything },
            Request::Expose { handle: 14 },
            Request::Unlink { path: b"a" },
            Request::RemoveDirectory { path: b"b" },
            Request::MakeDirectory { path: b"c", permissions: 0o7777 },
            Request::Rename { from: &long, to: &long },
        ];
        for request in requests {
            let mut bytes = [0; MESSAGE_MAX];
            let length = request.encode(&mut bytes);
            assert!(request.fits());
            assert_eq!(Request::decode(&bytes[..length]), Ok(request));
            assert_eq!(Request::decode(&bytes[..length - 1]), Err(Malformed));
            assert_eq!(Request::decode(&bytes[..=length]), Err(Malformed));
        }
    }

    proptest! {
        #[test]
        fn what_is_understood_is_said_in_the_same_way(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
            if let Ok(reply) = Reply::decode(&bytes) {
                let mut again = [0; REPLY_MAX];
                let length = reply.encode(&mut again);
                prop_assert_eq!(&again[..length], &bytes[..]);
            }
            if let Ok(request) = Request::decode(&bytes) {
                let mut again = [0; MESSAGE_MAX];
                let length = request.encode(&mut again);
                prop_assert_eq!(Request::decode(&again[..length]), Ok(request));
            }
        }
    }
}
