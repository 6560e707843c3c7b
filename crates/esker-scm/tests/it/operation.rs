//! Operations on a small tree, as data.

use esker_core::Rng;

/// One operation. Paths are absolute, `/a/b`; `/` is the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Create(String),
    MakeDirectory(String),
    Symlink(String, String),
    Fifo(String),
    Link(String, String),
    Unlink(String),
    RemoveDirectory(String),
    Rename(String, String),
    RenameKeep(String, String),
    Exchange(String, String),
    /// Path, offset, length, seed of the bytes.
    Write(String, u64, u64, u64),
    /// Path, length, seed.
    Append(String, u64, u64),
    Truncate(String, u64),
    /// Path, offset, length.
    Punch(String, u64, u64),
    Preallocate(String, u64, u64),
    Extend(String, u64, u64),
    ZeroRange(String, u64, u64),
    SetXattr(String, String, u64),
    RemoveXattr(String, String),
    Permissions(String, u16),
    Sync(String),
    /// fdatasync.
    SyncData(String),
    /// The file stays open under a number; a name that is taken away later does not end it.
    Hold(String, usize),
    WriteHeld(usize, u64, u64, u64),
    Release(usize),
    /// Some steps of the cleaner: as in a full pool, or as in one with much room.
    Clean {
        is_full: bool,
    },
    /// The cleaner works until it has nothing to do: blocks are emptied for files that are scattered.
    Compact,
}

/// Bytes that a write with this seed stores: never zero, so that a hole shows.
pub(crate) fn pattern(seed: u64, length: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..length).map(|_| 1 + rng.below(255) as u8).collect()
}

const NAMES: [&str; 6] =
    ["foo", "bar", "A", "B", "C", "a-name-of-more-than-forty-eight-bytes-which-takes-two-slots-or-three"];

/// A path: most often one that exists, or a name beside or below one.
fn path(rng: &mut Rng, known: &[String]) -> String {
    let name = NAMES[rng.below(NAMES.len() as u64) as usize];
    let any = &known[rng.below(known.len() as u64) as usize];
    match rng.below(10) {
        0..5 => any.clone(),
        5..8 => format!("{any}/{name}"),
        _ => format!("/{name}"),
    }
}

/// A size: small, near a page, or a few pages.
fn size(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => rng.below(300),
        1 => 4090 + rng.below(12),
        2 => 4096 * rng.below(6),
        _ => rng.below(30_000),
    }
}

/// A random operation on `known` paths and others; `number` makes its bytes its own.
pub(crate) fn random(rng: &mut Rng, number: u64, known: &[String]) -> Operation {
    use Operation::*;
    let path = |rng: &mut Rng| path(rng, known);
    match rng.below(32) {
        0..3 => Create(path(rng)),
        3..6 => MakeDirectory(path(rng)),
        6 => Symlink(path(rng), "t".repeat(1 + rng.below(200) as usize)),
        7 => Link(path(rng), path(rng)),
        8..10 => Unlink(path(rng)),
        10 => RemoveDirectory(path(rng)),
        11..13 => Rename(path(rng), path(rng)),
        13 => Exchange(path(rng), path(rng)),
        14 => RenameKeep(path(rng), path(rng)),
        15..19 => Write(path(rng), size(rng), 1 + size(rng), number),
        19 => Append(path(rng), 1 + size(rng), number),
        20..22 => Truncate(path(rng), size(rng)),
        22 => Punch(path(rng), size(rng), 1 + size(rng)),
        23 => match rng.below(3) {
            0 => Preallocate(path(rng), size(rng), 1 + size(rng)),
            1 => Extend(path(rng), size(rng), 1 + size(rng)),
            _ => ZeroRange(path(rng), size(rng), 1 + size(rng)),
        },
        24 => SetXattr(path(rng), format!("user.{}", rng.below(3)), number),
        25 => RemoveXattr(path(rng), format!("user.{}", rng.below(3))),
        26 => Permissions(path(rng), 0o600 + rng.below(64) as u16),
        27 => match rng.below(3) {
            0 => Hold(path(rng), rng.below(3) as usize),
            1 => WriteHeld(rng.below(3) as usize, size(rng), 1 + size(rng), number),
            _ => Release(rng.below(3) as usize),
        },
        28 => Fifo(path(rng)),
        29 if number.is_multiple_of(2) => SyncData(path(rng)),
        29 => Sync(path(rng)),
        30 if rng.below(2) == 0 => Compact,
        _ => Clean { is_full: rng.below(2) == 0 },
    }
}
