//! Superblocks: what a volume is made of.

use esker_core::Bytes;
use thiserror::Error;

use super::{Damage, Fields, Header, Identity, Kind, Layout, Output, SUPERBLOCK, SealedBy};

/// Version of the format that this program writes.
const VERSION: u32 = 1;

/// A superblock, which is 16 KiB and lies at the start and at the end of each device. After the header:
///
/// | offset | length | meaning |
/// | --- | --- | --- |
/// | 32 | 4 | version of the format: 1 |
/// | 36 | 4 | features that a program has to know to read the volume: none are defined |
/// | 40 | 4 | features that a program has to know to write to it: none are defined |
/// | 44 | 2 | index of this device |
/// | 46 | 2 | number of devices |
/// | 48 | 16 | identity of the volume |
/// | 64 | 8 | bytes of this device that belong to the volume |
/// | 72 | 8 | length of the journal, which begins at byte 16,384; zero if there is no room for one |
/// | 80 | 8 | length of each checkpoint area; they follow the journal |
/// | 88 | 8 | first byte of the data |
/// | 96 | 8 | length of the data |
/// | 104 | 4 | length of the settings in bytes |
/// | 108 | 20 | zero |
/// | 128 | 32 each | the devices, by index |
/// | | | the settings of the engine: JSON |
///
/// A device: its identity (16 bytes), length of its data (8), its state (1 byte: 0 in use, 1 removed, 2 being drained),
/// whether it keeps journal and checkpoints (1), the generation of the superblocks that it got when the volume was last
/// opened to be written (6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// The volume.
    pub(crate) volume: Identity,
    /// Rises with every change of the superblock; [`Self::JOINS`] before the first one.
    pub(crate) generation: u64,
    /// Index of the device on which it lies.
    pub(crate) index: u16,
    /// All devices.
    pub(crate) members: Vec<Member>,
    /// Where the parts of this device lie.
    pub(crate) layout: Layout,
    /// The engine's settings.
    pub(crate) settings: String,
}

/// A device of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its identity.
    pub(crate) id: Identity,
    /// Length of its data.
    pub(crate) data: Bytes,
    /// Its state.
    pub(crate) state: MemberState,
    /// Whether it keeps a copy of journal and checkpoints.
    pub(crate) keeps_journal: bool,
    /// Generation of the superblocks that it got when the volume was last opened to be written: a device whose own
    /// superblocks are older was put back from a copy. Six bytes.
    pub(crate) opened: u64,
}

/// The state of a device, as the superblocks say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It is in use.
    InUse,
    /// It was drained and removed.
    Removed,
    /// It is in use, and its data move to the others.
    Draining,
}

/// Why a superblock cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SuperblockError {
    /// It is damaged, or there is none.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A later program has written it.
    #[error("it has version {found} of the format; this program knows version {VERSION}: use a newer esker")]
    Version {
        /// The version.
        found: u32,
    },
    /// It uses features that this program does not know.
    #[error("it needs features that this program does not know ({features:#x}): use a newer esker")]
    Features {
        /// The features, as bits.
        features: u32,
    },
}

impl Superblock {
    /// Where the devices begin.
    const MEMBERS: usize = 128;
    /// Bytes for each device.
    const MEMBER: usize = 32;
    /// The most devices of a volume.
    pub(crate) const MEMBERS_MAX: usize = 256;
    /// Generations by which a volume goes ahead that does without a lost device. A change of the superblocks may have
    /// been under way when the device was lost, and have reached that device alone: should it come back, what it says
    /// must be neither newer nor as new.
    pub(crate) const AHEAD: u64 = 1 << 16;

    /// No generation of superblocks gets this far: it has six bytes among the devices.
    const GENERATION_MAX: u64 = 1 << 48;

    /// Superblocks of this generation do not count: the device is about to join.
    pub(crate) const JOINS: u64 = 0;
    /// The most bytes of settings.
    pub(crate) const SETTINGS_MAX: usize = SUPERBLOCK - Self::MEMBERS - Self::MEMBERS_MAX * Self::MEMBER;

    /// Returns the bytes of the copy that begins at `address`.
    pub(crate) fn encode(&self, address: u64) -> Vec<u8> {
        let Self { volume, generation, index, members, layout, settings } = self;
        assert!(members.len() <= Self::MEMBERS_MAX && settings.len() <= Self::SETTINGS_MAX, "a superblock holds it");
        let mut bytes = vec![0; SUPERBLOCK];
        let mut into = Output(&mut bytes[Header::BYTES..]);
        into.put(&VERSION.to_le_bytes()).put(&[0; 8]).put(&index.to_le_bytes());
        into.put(&(members.len() as u16).to_le_bytes()).put(&volume.0);
        for part in [layout.size, layout.journal, layout.checkpoint, layout.data, layout.data_length] {
            into.put(&part.to_le_bytes());
        }
        into.put(&(settings.len() as u32).to_le_bytes()).put(&[0; 20]);
        for Member { id, data, state, keeps_journal, opened } in members {
            into.put(&id.0).put(&data.0.to_le_bytes()).put(&[state.code(), u8::from(*keeps_journal)]);
            into.put(&opened.to_le_bytes()[..6]);
        }
        into.put(settings.as_bytes());
        let header = Header { kind: Kind::Superblock, length: SUPERBLOCK as u32, generation: *generation, number: 0 };
        header.seal(SealedBy { volume: *volume, address }, &mut bytes);
        bytes
    }

    /// Reads the copy that begins at `address`.
    ///
    /// # Errors
    /// If it is damaged, or if a later program has written it.
    pub(crate) fn decode(bytes: &[u8], address: u64) -> Result<Self, SuperblockError> {
        let header = Header::peek(Kind::Superblock, bytes)?;
        if header.length as usize != SUPERBLOCK {
            return Err(Damage::Checksum.into());
        }
        let mut fields = Fields(&bytes[Header::BYTES..]);
        let (version, to_read, to_write) = (fields.u32(), fields.u32(), fields.u32());
        let (index, count, volume) = (fields.u16(), fields.u16(), Identity(fields.take()));
        // The places of version and identity are the same in all versions.
        let (header, bytes) = Header::open(Kind::Superblock, SealedBy { volume, address }, bytes)?;
        if version != VERSION {
            return Err(SuperblockError::Version { found: version });
        }
        // Whatever is opened may be written to: copies that differ are made alike.
        let features = to_read | to_write;
        if features != 0 {
            return Err(SuperblockError::Features { features });
        }
        let [size, journal, checkpoint, data, data_length] = std::array::from_fn(|_| fields.u64());
        let layout = Layout { size, journal, checkpoint, data, data_length };
        let settings_length = fields.u32() as usize;
        let content = Self::MEMBERS + usize::from(count) * Self::MEMBER;
        let is_sound = index < count && usize::from(count) <= Self::MEMBERS_MAX && layout.is_sound();
        if !is_sound || settings_length > Self::SETTINGS_MAX || header.generation >= Self::GENERATION_MAX {
            return Err(Damage::Content.into());
        }
        let mut fields = Fields(&bytes[Self::MEMBERS..content]);
        let members: Option<Vec<Member>> = (0..count).map(|_| Member::read(&mut fields)).collect();
        let members = members.ok_or(Damage::Content)?;
        let own = members[usize::from(index)];
        let is_removed = own.state == MemberState::Removed;
        if own.keeps_journal && !layout.has_journal() || own.data.0 != layout.data_length && !is_removed {
            return Err(Damage::Content.into());
        }
        let settings = str::from_utf8(&bytes[content..content + settings_length]).map_err(|_| Damage::Content)?;
        Ok(Self { volume, generation: header.generation, index, members, layout, settings: settings.to_string() })
    }

    /// Returns the size of the device as a superblock says that may be damaged.
    pub(crate) fn size_hint(bytes: &[u8]) -> Option<u64> {
        Header::peek(Kind::Superblock, bytes).ok()?;
        Some(u64::from_le_bytes(bytes[64..72].try_into().expect("eight bytes")))
    }

    /// Returns true if the device on which it lies belongs to no volume: it was removed from one, or was to join one.
    pub(crate) fn is_free(&self) -> bool {
        self.generation == Self::JOINS || self.member().state == MemberState::Removed
    }

    /// Returns whether it says of the volume what these say. When the volume was opened last does not matter.
    pub(crate) fn says_the_same(&self, members: &[Member], settings: &str) -> bool {
        let are_alike = |(one, other): (&Member, &Member)| Member { opened: other.opened, ..*one } == *other;
        self.members.len() == members.len()
            && self.members.iter().zip(members).all(are_alike)
            && self.settings == settings
    }

    /// Returns the device on which it lies.
    pub(crate) fn member(&self) -> &Member {
        &self.members[usize::from(self.index)]
    }
}

impl Member {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (id, data) = (Identity(fields.take()), Bytes(fields.u64()));
        let (state, keeps_journal) = (MemberState::of_code(fields.u8())?, fields.u8() != 0);
        let opened = fields.take::<6>().into_iter().rev().fold(0, |number, byte| number << 8 | u64::from(byte));
        Some(Self { id, data, state, keeps_journal, opened })
    }
}

impl MemberState {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::InUse => "in use",
            Self::Removed => "removed",
            Self::Draining => "being drained",
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::InUse => 0,
            Self::Removed => 1,
            Self::Draining => 2,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        [Self::InUse, Self::Removed, Self::Draining].into_iter().find(|state| state.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        let member = |id, keeps_journal| Member {
            id: Identity([id; 16]),
            data: Bytes::mib(2),
            state: MemberState::InUse,
            keeps_journal,
            opened: 0x0102_0304_0506,
        };
        Superblock {
            volume: Identity([0xab; 16]),
            generation: 7,
            index: 1,
            members: vec![member(1, true), Member { state: MemberState::Removed, ..member(2, false) }],
            layout: Layout::plan(Bytes::mib(4), 256 << 10, 8192, 128 << 10).unwrap(),
            settings: r#"{"kind":"placement"}"#.to_string(),
        }
    }

    /// The bytes of a superblock: they must never change their meaning.
    #[test]
    fn a_golden_superblock_is_read_as_ever() {
        let bytes = superblock().encode(0);
        let hex: String = bytes[..128].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, GOLDEN);
        assert_eq!(bytes[Superblock::MEMBERS + 2 * Superblock::MEMBER..][..20], *br#"{"kind":"placement"}"#);
        assert_eq!(Superblock::decode(&bytes, 0), Ok(superblock()));
    }

    const GOLDEN: &str = concat!(
        "65736b6572564f4c4cd62c94004000000700000000000000000000000000000001000000000000000000000001000200",
        "abababababababababababababababab0000400000000000000004000000000000200000000000000000100000000000",
        "00002e0000000000140000000000000000000000000000000000000000000000",
    );

    #[test]
    fn a_changed_bit_another_place_and_later_versions_are_found() {
        let bytes = superblock().encode(4096);
        for bit in (0..SUPERBLOCK * 8).step_by(61) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&changed, 4096).is_err(), "bit {bit}");
        }
        assert_eq!(Superblock::decode(&bytes, 0), Err(Damage::Checksum.into()));
        let seal = |change: &dyn Fn(&mut [u8])| {
            let mut changed = bytes.clone();
            change(&mut changed);
            let header = Header::peek(Kind::Superblock, &changed).unwrap();
            header.seal(SealedBy { volume: superblock().volume, address: 4096 }, &mut changed);
            Superblock::decode(&changed, 4096).unwrap_err()
        };
        assert_eq!(seal(&|bytes| bytes[32] = 2), SuperblockError::Version { found: 2 });
        assert_eq!(seal(&|bytes| bytes[37] = 1), SuperblockError::Features { features: 256 });
        assert_eq!(seal(&|bytes| bytes[40] = 2), SuperblockError::Features { features: 2 });
        assert_eq!(seal(&|bytes| bytes[44] = 2), SuperblockError::Damaged(Damage::Content));
        assert_eq!(seal(&|bytes| bytes[107] = 2), SuperblockError::Damaged(Damage::Content));
        let without_journal = |bytes: &mut [u8]| {
            bytes[72..80].fill(0);
            bytes[Superblock::MEMBERS + Superblock::MEMBER + 25] = 1;
        };
        assert_eq!(seal(&without_journal), SuperblockError::Damaged(Damage::Content));
    }
}
