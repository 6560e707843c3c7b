//! Numbers, paths and attributes as bytes.

use esker_scm::{Attributes, Kind, Moment};

/// A message that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Writes a message.
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Writer<'a> {
        Writer { bytes, length: 0 }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
        self
    }

    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.put(&[byte])
    }

    pub(crate) fn word(&mut self, word: u32) -> &mut Self {
        self.put(&word.to_le_bytes())
    }

    pub(crate) fn long(&mut self, long: u64) -> &mut Self {
        self.put(&long.to_le_bytes())
    }

    pub(crate) fn path(&mut self, path: &[u8]) -> &mut Self {
        self.put(&(path.len() as u16).to_le_bytes()).put(path)
    }
}

/// Reads a message.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn short(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn word(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn long(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn path(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.short()?;
        self.take(length.into())
    }

    pub(crate) fn end<T>(&self, value: T) -> Result<T, Malformed> {
        if self.0.is_empty() { Ok(value) } else { Err(Malformed) }
    }
}

/// Kinds of what has a name, by their numbers in a message.
const KINDS: [Kind; 7] =
    [Kind::File, Kind::Directory, Kind::Symlink, Kind::Fifo, Kind::Socket, Kind::CharacterDevice, Kind::BlockDevice];

/// Writes attributes.
pub(crate) fn put_attributes<'w, 'b>(w: &'w mut Writer<'b>, found: &Attributes) -> &'w mut Writer<'b> {
    let kind = KINDS.iter().position(|kind| *kind == found.kind).unwrap_or_default();
    w.long(found.number).word(found.generation).byte(kind as u8).word(found.permissions.into());
    w.word(found.links).word(found.user).word(found.group);
    w.long(found.size).long(found.mapped).long(found.reserved).long(found.device);
    for moment in [found.accessed, found.modified, found.changed, found.made] {
        w.long(moment.0.cast_unsigned());
    }
    w
}

/// Reads attributes.
pub(crate) fn take_attributes(r: &mut Reader<'_>) -> Result<Attributes, Malformed> {
    let (number, generation) = (r.long()?, r.word()?);
    let kind = *KINDS.get(usize::from(r.byte()?)).ok_or(Malformed)?;
    let permissions = u16::try_from(r.word()?).map_err(|_| Malformed)?;
    let (links, user, group) = (r.word()?, r.word()?, r.word()?);
    let (size, mapped, reserved, device) = (r.long()?, r.long()?, r.long()?, r.long()?);
    let mut moment = || r.long().map(|bits| Moment(bits.cast_signed()));
    let (accessed, modified, changed, made) = (moment()?, moment()?, moment()?, moment()?);
    Ok(Attributes {
        number,
        generation,
        kind,
        permissions,
        links,
        user,
        group,
        size,
        mapped,
        reserved,
        device,
        accessed,
        modified,
        changed,
        made,
    })
}
