//! Between the owner of an SCMFS pool and other processes (its clients).
//!
//! One process has a pool: the one that mounted it. Others reach it without the kernel, once the kernel has let them
//! reach the mount: there they learn its [`Address`]. A client connects to a socket of the owner, says the secret of
//! the address, and gets shared memory of its own ([`Region`]), in which it makes calls: a [`Request`], bytes, and a
//! [`Reply`]. A client that the owner trusts also gets the pool and a [`Board`]: it maps the pages of files that it may
//! open ([`esker_scm::View`]), and reads and writes them without a call, by the rules of [`esker_scm::SharedRecord`].
//!
//! The owner trusts nothing that stands in shared memory: it copies a request before it looks at it, judges permissions
//! by what the system says of the process at the other end, and takes sizes from the file system, never from the board.

mod address;
mod board;
mod codec;
mod connection;
mod file;
mod kept;
mod memory;
mod message;
mod mountinfo;
mod peer;
mod region;
mod socket;
mod waiting;

pub use address::{ADDRESS_ATTRIBUTE, Address};
pub use board::{Board, Record};
pub use codec::Malformed;
pub use connection::{Connection, Gone};
pub use file::{Outcome, RemoteFile};
pub use kept::Numbers;
pub use memory::SharedMemory;
pub use message::{MESSAGE_MAX, Purpose, REPLY_MAX, Reply, Request};
pub use mountinfo::{MOUNT_TYPE, MountLine};
pub use peer::PeerIdentity;
pub use region::{Region, SLOTS, Slot, WINDOW};
pub use socket::{Granted, accept, is_let_in, knock, listen, receive_file, send_file, send_granted};
