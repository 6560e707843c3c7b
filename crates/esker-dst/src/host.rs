//! The host: its requests, and what each sector may hold.

use std::collections::BTreeMap;

use esker_core::{Bytes, DeviceError, Lba, Request, RequestKind, Rng, Tag, TagSlab};
use esker_volume::{Buffer, Reply};

use crate::image::SECTOR;

/// The writes to a sector, oldest first, as far as it may still hold one of them. Zero is a sector that was never
/// written, or holds zeroes.
#[derive(Clone, Debug)]
struct Sector {
    /// Versions that it may hold, with the step at which the write of each had ended; `None` while it is under way or
    /// if it has failed.
    versions: Vec<(u64, Option<u64>)>,
    /// Versions that other copies may still have since the last restart, as long as it was not written since.
    of_other_copies: Vec<u64>,
}

/// A request of the host that is under way.
#[derive(Clone, Debug)]
struct Pending {
    request: Request,
    version: u64,
    /// The step at which it was sent.
    sent: u64,
}

/// The host of a volume.
#[derive(Clone)]
pub(crate) struct Host {
    sectors: Vec<Sector>,
    tags: TagSlab<()>,
    pending: BTreeMap<Tag, Pending>,
    version: u64,
    /// Steps of the world so far.
    step: u64,
    /// Whether a device has failed since the volume was opened: then requests may fail.
    pub(crate) may_fail: bool,
    /// Whether a disk has failed of which others have copies: what they missed before a restart may be read.
    pub(crate) may_be_of_other_copies: bool,
}

/// The most sectors of a request.
const LENGTH_MAX: u64 = 96;

impl Host {
    /// A host of a volume of `capacity` zero bytes.
    pub(crate) fn new(capacity: Bytes) -> Self {
        let sectors = vec![Sector::zero(); (capacity.0 / SECTOR as u64) as usize];
        Self {
            sectors,
            tags: TagSlab::default(),
            pending: BTreeMap::new(),
            version: 0,
            step: 0,
            may_fail: false,
            may_be_of_other_copies: false,
        }
    }

    /// Notes that the volume offers `capacity`. What is new holds zeroes.
    ///
    /// # Errors
    /// If it has become smaller.
    pub(crate) fn offer(&mut self, capacity: Bytes) -> Result<(), String> {
        if capacity < self.capacity() {
            return Err(format!("the volume offers {capacity} instead of {}", self.capacity()));
        }
        self.sectors.resize((capacity.0 / SECTOR as u64) as usize, Sector::zero());
        Ok(())
    }

    /// Bytes of the volume.
    pub(crate) fn capacity(&self) -> Bytes {
        Bytes((self.sectors.len() * SECTOR) as u64)
    }

    /// Number of requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.pending.len()
    }

    /// Makes the next request, if one can be made beside those under way.
    pub(crate) fn request(&mut self, rng: &mut Rng) -> Option<(Tag, Request, Buffer)> {
        self.step += 1;
        let count = self.sectors.len() as u64;
        // Half of the requests go to a small part, so that blocks are written again and extents become hot.
        let reach = if rng.chance(1, 2) { count } else { count / 16 };
        let start = rng.below(reach);
        let length = (1 + rng.below(LENGTH_MAX)).min(count - start);
        let fua = rng.chance(1, 8);
        let kind = match rng.below(16) {
            0..5 => RequestKind::Read,
            5..12 => RequestKind::Write { fua },
            12 => RequestKind::WriteZeroes { fua },
            13 => RequestKind::Trim,
            _ => RequestKind::Flush,
        };
        let (start, length) = if kind == RequestKind::Flush { (0, 0) } else { (start, length) };
        let request = Request::new(kind, Lba(start), Bytes(length * SECTOR as u64));
        let overlaps = |other: &Pending| start < end(&other.request) && other.request.start.0 < start + length;
        if self.pending.values().any(overlaps) {
            return None;
        }
        self.version += 1;
        let version = if matches!(kind, RequestKind::Write { .. }) { self.version } else { 0 };
        let data = match kind {
            RequestKind::Write { .. } => Buffer::from(content(start, length, version)),
            _ => Buffer::default(),
        };
        if kind.is_write() || kind == RequestKind::Trim {
            self.sectors_of(&request).for_each(|sector| sector.versions.push((version, None)));
        }
        let tag = self.tags.insert(());
        self.pending.insert(tag, Pending { request, version, sent: self.step });
        Some((tag, request, data))
    }

    fn sectors_of(&mut self, request: &Request) -> impl Iterator<Item = &mut Sector> {
        self.sectors[request.start.0 as usize..end(request) as usize].iter_mut()
    }

    /// Takes a reply.
    ///
    /// # Errors
    /// If the answer is wrong.
    pub(crate) fn reply(&mut self, reply: &Reply) -> Result<(), String> {
        self.step += 1;
        self.tags.remove(reply.tag);
        let Pending { request, version, sent } = self.pending.remove(&reply.tag).ok_or("a reply to no request")?;
        if let Err(error) = reply.result {
            let is_lost = !matches!(error, DeviceError::OutOfRange { .. });
            return if self.may_fail && is_lost { Ok(()) } else { Err(format!("{request:?} failed: {error}")) };
        }
        let step = self.step;
        match request.kind {
            RequestKind::Read => self.check(request.start.0, &reply.data.to_vec()),
            RequestKind::Flush => {
                self.sectors.iter_mut().for_each(|sector| sector.promise(sent));
                Ok(())
            }
            kind => {
                for sector in self.sectors_of(&request) {
                    let own = sector.versions.iter_mut().rfind(|(own, ended)| *own == version && ended.is_none());
                    *own.ok_or("a write ended twice")? = (version, Some(step));
                    sector.of_other_copies.clear();
                    if kind.is_fua() {
                        sector.promise(step);
                    }
                }
                Ok(())
            }
        }
    }

    /// Checks bytes that were read from sector `start` on: the last write, because no write overlaps a read.
    fn check(&mut self, start: u64, bytes: &[u8]) -> Result<(), String> {
        for (number, bytes) in (start..).zip(bytes.chunks(SECTOR)) {
            let found = version_of(number, bytes)?;
            let sector = &mut self.sectors[number as usize];
            let &(last, ended) = sector.versions.last().expect("it has one");
            let is_right = match ended {
                Some(_) => found == last,
                // A write that has failed may have reached a part of its sectors.
                None => sector.versions.iter().any(|(version, _)| *version == found),
            };
            // A device that has failed may have lost what was not promised.
            let is_old = self.may_fail && sector.versions.iter().any(|(version, _)| *version == found);
            let is_of_another = self.may_be_of_other_copies && sector.of_other_copies.contains(&found);
            if !is_right && !is_old && !is_of_another {
                return Err(format!("sector {number} has version {found} instead of {last}: {:?}", sector.versions));
            }
        }
        Ok(())
    }

    /// Notes that all requests under way are lost.
    pub(crate) fn crash(&mut self) {
        self.pending.clear();
        self.tags = TagSlab::default();
        self.may_fail = false;
    }

    /// Checks all that a volume has after it was opened again, or that a part of it could not be read.
    ///
    /// # Errors
    /// If a sector holds neither what was promised nor anything written later.
    pub(crate) fn check_recovered(&mut self, start: u64, bytes: &[u8]) -> Result<(), String> {
        for (number, bytes) in (start..).zip(bytes.chunks(SECTOR)) {
            let found = version_of(number, bytes)?;
            let sector = &mut self.sectors[number as usize];
            let is_of_another = self.may_be_of_other_copies && sector.of_other_copies.contains(&found);
            if !is_of_another && !sector.versions.iter().any(|(version, _)| *version == found) {
                return Err(format!("sector {number} has version {found} after a crash: {:?}", sector.versions));
            }
            sector.of_other_copies.extend(sector.versions.iter().map(|(version, _)| *version));
            sector.versions = vec![(found, Some(self.step))];
        }
        Ok(())
    }
}

impl Sector {
    /// A sector that was never written.
    fn zero() -> Self {
        Self { versions: vec![(0, Some(0))], of_other_copies: Vec::new() }
    }

    /// Notes that what was written by `step` is durable.
    fn promise(&mut self, step: u64) {
        let promised = self.versions.iter().rposition(|(_, ended)| ended.is_some_and(|ended| ended <= step));
        if let Some(promised) = promised {
            self.versions.drain(..promised);
        }
    }
}

fn end(request: &Request) -> u64 {
    request.start.0 + request.length.0 / SECTOR as u64
}

/// Bytes of `length` sectors from `start` on in this version.
fn content(start: u64, length: u64, version: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length as usize * SECTOR);
    for sector in start..start + length {
        bytes.extend_from_slice(&[version, sector].map(u64::to_le_bytes).concat().repeat(SECTOR / 16));
    }
    bytes
}

/// Returns the version of a sector; zero for zeroes.
fn version_of(number: u64, bytes: &[u8]) -> Result<u64, String> {
    let version = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    // One stamp of sixteen bytes after the other.
    let is_whole = bytes[16..] == bytes[..bytes.len() - 16];
    let expected = if version == 0 { 0 } else { number };
    let found = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    if is_whole && found == expected {
        Ok(version)
    } else {
        Err(format!("sector {number} has bytes of sector {found} in version {version}"))
    }
}
