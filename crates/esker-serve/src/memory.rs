//! Memory for data, as sessions use it.

use esker_core::Bytes;
use esker_nbd::{Memory, Slices};
use esker_volume::{Buffer, ReplyData};

use crate::served::Served;

/// The bytes of a write.
#[derive(Debug)]
pub(crate) struct Payload(pub(crate) Buffer);

impl AsMut<[u8]> for Payload {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.get_mut().expect("nobody shares it before it is submitted")
    }
}

/// The bytes of a read.
#[derive(Debug)]
pub(crate) struct Data(pub(crate) ReplyData);

impl Slices for Data {
    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.0.slices()
    }
}

/// Where payloads come from.
pub(crate) struct ServedMemory<'a, S>(pub(crate) &'a mut S);

impl<S: Served> Memory for ServedMemory<'_, S> {
    type Payload = Payload;
    fn take(&mut self, length: usize) -> Payload {
        Payload(self.0.buffer(length))
    }
}

/// Bytes of a sector: requests of a volume are whole sectors.
pub(crate) const SECTOR: Bytes = Bytes(512);
