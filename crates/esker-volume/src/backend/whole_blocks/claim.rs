//! Which operations have to wait for each other.

use esker_core::RequestKind;

/// The blocks that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// First byte of the first block, and the end of the last one.
    begin: u64,
    end: u64,
    /// First bytes of the blocks of which a write changes only a part, so that it reads and writes all of them.
    head: Option<u64>,
    tail: Option<u64>,
    block: u64,
}

impl Claim {
    pub(super) fn new(kind: RequestKind, offset: u64, length: u64, block: u64) -> Self {
        let last = offset + length;
        let (begin, end) = (offset - offset % block, last.next_multiple_of(block));
        let changes = matches!(kind, RequestKind::Write { .. } | RequestKind::WriteZeroes { .. });
        let head = (changes && offset != begin).then_some(begin);
        let tail = (changes && last != end && head != Some(end - block)).then(|| end - block);
        Self { begin, end, head, tail, block }
    }

    /// The blocks of which a write changes only a part: the one with its first bytes, the one with its last bytes.
    pub(super) fn parts(&self) -> [Option<u64>; 2] {
        [self.head, self.tail]
    }

    /// Returns true if the operation changes a part of a block.
    pub(super) fn has_parts(&self) -> bool {
        self.parts() != [None, None]
    }

    /// The blocks that are touched: the first byte and the length.
    pub(super) fn blocks(&self) -> (u64, u64) {
        (self.begin, self.end - self.begin)
    }

    /// The blocks of which a write changes all bytes, or that a trim discards whole: the first byte and the length.
    pub(super) fn middle(&self) -> (u64, u64) {
        let begin = self.head.map_or(self.begin, |head| head + self.block);
        let end = self.tail.unwrap_or(self.end);
        (begin, end.saturating_sub(begin))
    }

    /// Returns true if one of the two operations has to wait for the other: it changes a part of a block that the
    /// other one touches.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let touches = |claim: &Self, part: Option<u64>| part.is_some_and(|at| (claim.begin..claim.end).contains(&at));
        self.parts().into_iter().any(|part| touches(other, part))
            || other.parts().into_iter().any(|part| touches(self, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: RequestKind = RequestKind::Write { fua: false };

    fn claim(kind: RequestKind, offset: u64, length: u64) -> Claim {
        Claim::new(kind, offset, length, 4096)
    }

    #[test]
    fn writes_claim_the_blocks_of_which_they_change_a_part() {
        let of = |offset, length| {
            let claim = claim(WRITE, offset, length);
            (claim.parts(), claim.middle())
        };
        assert_eq!(of(4096, 8192), ([None, None], (4096, 8192)));
        assert_eq!(of(4608, 512), ([Some(4096), None], (8192, 0)));
        assert_eq!(of(4096, 512), ([None, Some(4096)], (4096, 0)));
        assert_eq!(of(4608, 4096), ([Some(4096), Some(8192)], (8192, 0)));
        assert_eq!(of(512, 12_288), ([Some(0), Some(12_288)], (4096, 8192)));
        assert!(!claim(RequestKind::Read, 512, 12_288).has_parts());
    }

    #[test]
    fn only_who_shares_such_a_block_waits() {
        let conflict = |one: Claim, other: Claim| {
            assert_eq!(one.conflicts(&other), other.conflicts(&one));
            one.conflicts(&other)
        };
        let part = claim(WRITE, 4608, 512);
        assert!(conflict(part, claim(WRITE, 5120, 512)));
        assert!(conflict(part, claim(RequestKind::Read, 0, 8192)));
        assert!(conflict(part, claim(RequestKind::Trim, 4096, 4096)));
        assert!(!conflict(part, claim(RequestKind::Read, 8192, 4096)));
        assert!(!conflict(claim(WRITE, 512, 12_288), claim(WRITE, 4096, 4096)));
        assert!(!conflict(claim(RequestKind::Read, 512, 512), claim(RequestKind::Read, 0, 512)));
    }
}
