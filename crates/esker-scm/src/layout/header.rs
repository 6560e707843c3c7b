//! The header of a pool: its signature and its sizes (the "metadata" of Wu, figure 23). Pages 0 and 1 hold a copy each,
//! which are written once, by mkfs.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | checksum |
//! | 4-11 | `ESKERSCM` |
//! | 12-15 | version of the layout |
//! | 16-23 | pages of the pool |
//! | 24-31 | virtual pages |
//! | 32-39 | bytes of a half of the log |
//! | 40-47 | first page of the mapping table |
//! | 48-55 | first page of data |
//! | 56-71 | identity: random bytes |
//! | 72-79 | when it was made, ns since 1970 |

use super::{Geometry, number32, number64, seal};
use crate::moment::Moment;

/// Bytes of a header.
pub(crate) const HEADER: usize = 128;
/// The latest version of the layout, which this program writes. It reads version 1, too, whose log is shorter where
/// pools are large; smaller ones are of version 1 still.
pub(crate) const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"ESKERSCM";

/// What a pool says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its parts.
    pub geometry: Geometry,
    /// Random bytes that tell pools apart.
    pub identity: [u8; 16],
    /// When it was made, since 1970.
    pub made: Moment,
}

/// Why a copy of a header cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    /// It does not begin as a pool does.
    NoPool,
    /// It is of another version.
    Version(u32),
    /// Its checksum is wrong.
    Damaged,
}

impl Header {
    /// The first version of the layout with this geometry.
    fn version(&self) -> u32 {
        if self.geometry == Geometry::plan_of_version_1(self.geometry.pages) { 1 } else { VERSION }
    }

    /// The bytes of the copy in page `copy`.
    pub(crate) fn encode(&self, copy: u64) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[4..12].copy_from_slice(MAGIC);
        bytes[12..16].copy_from_slice(&self.version().to_le_bytes());
        let plan = self.geometry;
        let sizes = [plan.pages, plan.virtual_pages, plan.log_half_bytes, plan.table, plan.data];
        for (field, size) in bytes[16..56].chunks_exact_mut(8).zip(sizes) {
            field.copy_from_slice(&size.to_le_bytes());
        }
        bytes[56..72].copy_from_slice(&self.identity);
        bytes[72..80].copy_from_slice(&self.made.0.to_le_bytes());
        seal::seal(&mut bytes, copy);
        bytes
    }

    /// Reads the copy in page `copy`.
    pub(crate) fn decode(bytes: &[u8; HEADER], copy: u64) -> Result<Header, HeaderFault> {
        let is_sound = seal::is_sound(bytes, copy);
        if &bytes[4..12] != MAGIC && !is_sound {
            return Err(HeaderFault::NoPool);
        }
        if !is_sound {
            return Err(HeaderFault::Damaged);
        }
        let plan = match number32(bytes, 12) {
            1 => Geometry::plan_of_version_1,
            VERSION => Geometry::plan,
            other => return Err(HeaderFault::Version(other)),
        };
        let pages = number64(bytes, 16);
        if !(Geometry::PAGES_MIN..=Geometry::PAGES_MAX).contains(&pages) {
            return Err(HeaderFault::Damaged);
        }
        let geometry = plan(pages);
        let said = [24, 32, 40, 48].map(|at| number64(bytes, at));
        if said != [geometry.virtual_pages, geometry.log_half_bytes, geometry.table, geometry.data] {
            return Err(HeaderFault::Damaged);
        }
        let identity = bytes[56..72].try_into().expect("sixteen bytes");
        Ok(Header { geometry, identity, made: Moment(number64(bytes, 72) as i64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_faults_are_told_apart() {
        let header = Header { geometry: Geometry::plan(4096), identity: [3; 16], made: Moment(9) };
        let bytes = header.encode(1);
        assert_eq!(Header::decode(&bytes, 1), Ok(header));
        assert_eq!(Header::decode(&bytes, 0), Err(HeaderFault::Damaged));
        assert_eq!(Header::decode(&[0; HEADER], 0), Err(HeaderFault::NoPool));
        let mut newer = bytes;
        newer[12] = 3;
        seal::seal(&mut newer, 1);
        assert_eq!(Header::decode(&newer, 1), Err(HeaderFault::Version(3)));
        let mut impossible = bytes;
        impossible[48] ^= 1;
        seal::seal(&mut impossible, 1);
        assert_eq!(Header::decode(&impossible, 1), Err(HeaderFault::Damaged));
    }

    #[test]
    fn pools_of_version_1_are_read_and_stay_what_they_are() {
        for (pages, version) in [(4096, 1), (1 << 20, 2)] {
            let old = Header { geometry: Geometry::plan_of_version_1(pages), identity: [3; 16], made: Moment(9) };
            assert_eq!(old.encode(0)[12], 1);
            assert_eq!(Header::decode(&old.encode(0), 0), Ok(old));
            let new = Header { geometry: Geometry::plan(pages), ..old };
            assert_eq!(u32::from(new.encode(0)[12]), version, "{pages} pages");
            assert_eq!(Header::decode(&new.encode(0), 0), Ok(new));
        }
    }
}
