//! Tells which pages are read and which are written, with pairs of Bloom filters that forget.
//!
//! Xia 2017, section 5.3.2. There are several pairs of filters; in each pair, one filter is for reads and the other for
//! writes. The pairs take turns: each access sets the bits of its page in one pair, in the filter for the kind of
//! access. After every `period` accesses, the oldest pair is emptied. Each pair has a weight, and the newest has the
//! largest; the hotness of a page is the sum of the weights of the pairs that have it. Memory is independent of the
//! number of pages, and a page may seem hotter than it is, never colder.

use esker_core::mix64;

/// Pairs of filters (section 5.3.2).
const PAIRS: usize = 4;
/// Hash functions (section 5.3.2).
const HASHES: usize = 2;

/// Units of hotness per unit of the paper: the weights 2, 1.5, 1 and 0.5 of section 5.3.2 are 4, 3, 2 and 1 here.
const HALVES: i64 = 2;

/// How recently and how often a page was read and written, in halves of the paper's unit: 0 to 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hotness {
    /// By reads.
    pub read: u32,
    /// By writes.
    pub write: u32,
}

impl Hotness {
    /// Returns true if the page is read and written.
    pub fn is_overlapped(self) -> bool {
        self.read > 0 && self.write > 0
    }
    /// Returns true if the page is only written.
    pub fn is_write_only(self) -> bool {
        self.read == 0 && self.write > 0
    }
    /// Returns true if the write hotness is above the read hotness by more than `m`, in the paper's unit.
    pub fn writes_lead_by(self, m: i64) -> bool {
        i64::from(self.write) - i64::from(self.read) > HALVES * m
    }
    /// Returns true if the read hotness is above the write hotness, and by more than `n`, in the paper's unit.
    pub fn reads_lead_by(self, n: i64) -> bool {
        self.read > self.write && i64::from(self.read) - i64::from(self.write) > HALVES * n
    }
}

/// The kind of an access; its number is the place of its filter in a pair.
#[derive(Clone, Copy)]
enum Access {
    Read = 0,
    Write = 1,
}

/// Tells pages that are read from pages that are written, by four pairs of Bloom filters.
///
/// The paper can be read in two ways as to which filter is the oldest. Here, age is the time since a pair was last
/// emptied, as in the scheme that the paper refers to (Park and Du 2011). An access sets its bits in the pair whose
/// turn it is, whether or not the page is already there.
#[derive(Clone, Debug)]
pub struct Separator {
    /// Words of bits: for each pair, the filter of reads, then the filter of writes.
    words: Vec<u64>,
    /// Bits of a filter.
    bits: u32,
    /// Accesses between two times at which a pair is emptied.
    period: u64,
    /// Accesses left until a pair is emptied.
    left: u64,
    /// The pair that takes the next access.
    turn: usize,
    /// The pair that is emptied next, which is the oldest.
    oldest: usize,
}

impl Separator {
    /// Makes empty filters of `bits` bits each. A pair is emptied after every `period` accesses. Both are at least 1.
    pub fn new(bits: u32, period: u64) -> Self {
        let words = (bits as usize).div_ceil(64) * 2 * PAIRS;
        Self { words: vec![0; words], bits, period, left: period, turn: 0, oldest: 0 }
    }

    /// Records that `page` is read.
    pub fn record_read(&mut self, page: u32) {
        self.record(page, Access::Read);
    }

    /// Records that `page` is written.
    pub fn record_write(&mut self, page: u32) {
        self.record(page, Access::Write);
    }

    fn record(&mut self, page: u32, access: Access) {
        let filter = self.filter(self.turn, access);
        for bit in self.bits_of(page) {
            self.words[filter + bit / 64] |= 1 << (bit % 64);
        }
        self.turn = (self.turn + 1) % PAIRS;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.period;
            let first = self.filter(self.oldest, Access::Read);
            let pair = 2 * self.words_of_filter();
            self.words[first..first + pair].fill(0);
            self.oldest = (self.oldest + 1) % PAIRS;
        }
    }

    /// Returns the hotness of `page`.
    pub fn hotness(&self, page: u32) -> Hotness {
        let bits = self.bits_of(page);
        let mut hotness = Hotness::default();
        for age in 0..PAIRS {
            // The oldest pair counts least.
            let (pair, weight) = ((self.oldest + age) % PAIRS, age as u32 + 1);
            let has = |access| {
                let filter = self.filter(pair, access);
                bits.iter().all(|bit| self.words[filter + bit / 64] >> (bit % 64) & 1 == 1)
            };
            hotness.read += if has(Access::Read) { weight } else { 0 };
            hotness.write += if has(Access::Write) { weight } else { 0 };
        }
        hotness
    }

    /// Empties all filters.
    pub fn clear(&mut self) {
        *self = Self::new(self.bits, self.period);
    }

    /// Returns the number of bits of all filters.
    pub fn memory_bits(&self) -> u64 {
        2 * PAIRS as u64 * u64::from(self.bits)
    }

    fn words_of_filter(&self) -> usize {
        (self.bits as usize).div_ceil(64)
    }

    /// Returns the index of a filter's first word.
    fn filter(&self, pair: usize, access: Access) -> usize {
        (2 * pair + access as usize) * self.words_of_filter()
    }

    /// Returns the positions of the bits of `page`: the halves of a mixed number, scaled to the filter's size.
    #[inline]
    fn bits_of(&self, page: u32) -> [usize; HASHES] {
        let mixed = mix64(u64::from(page) + 1);
        let scaled = |half: u32| ((u64::from(half) * u64::from(self.bits)) >> 32) as usize;
        [scaled(mixed as u32), scaled((mixed >> 32) as u32)]
    }
}
