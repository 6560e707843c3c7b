//! Random changes, flushes and losses of power, against what each sector may hold.

use esker_core::{Bytes, Lba};
use proptest::prelude::*;

use super::*;
use crate::contents::MemoryContents;

const SECTORS: usize = 64;

/// A sector: the content that is read, and all that may be there after a loss of power. A content is the number of the
/// write that it came from; zero for zeroes.
#[derive(Clone, Debug)]
struct Model {
    /// The number of the last change, and its content.
    now: (u64, u64),
    /// Older contents that a loss of power may bring back, with the numbers of their changes.
    may_return: Vec<(u64, u64)>,
}

impl Model {
    fn change(&mut self, number: u64, content: u64, is_durable: bool) {
        self.may_return.push(self.now);
        self.now = (number, content);
        if is_durable {
            self.may_return.clear();
        }
    }

    /// What was replaced by a change that is durable now does not come back.
    fn flush(&mut self, through: u64) {
        let newest_durable = self.may_return.iter().chain([&self.now]).map(|(number, _)| *number);
        let newest_durable = newest_durable.filter(|number| *number <= through).max().unwrap_or(0);
        self.may_return.retain(|(number, _)| *number >= newest_durable);
    }

    fn lose(&mut self, found: u64) {
        let may_be = self.may_return.iter().chain([&self.now]).any(|(_, content)| *content == found);
        assert!(may_be, "{found} is there after a loss of power, not one of {self:?}");
        self.now.1 = found;
        self.may_return.clear();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write {
        start: usize,
        sectors: usize,
        fua: bool,
    },
    Clear {
        start: usize,
        sectors: usize,
        trim: bool,
    },
    /// Begins a flush, which ends some steps later.
    Flush {
        ends_after: usize,
    },
    /// With a write under way.
    CutPower {
        start: usize,
        sectors: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..SECTORS).prop_flat_map(|start| (Just(start), 1..=(SECTORS - start).min(20)));
    let step = prop_oneof![
        6 => (range(), any::<bool>()).prop_map(|((start, sectors), fua)| Step::Write { start, sectors, fua }),
        2 => (range(), any::<bool>()).prop_map(|((start, sectors), trim)| Step::Clear { start, sectors, trim }),
        2 => (0usize..4).prop_map(|ends_after| Step::Flush { ends_after }),
        1 => range().prop_map(|(start, sectors)| Step::CutPower { start, sectors }),
    ];
    prop::collection::vec(step, 1..60)
}

fn request(kind: RequestKind, start: usize, sectors: usize) -> Request {
    Request::new(kind, Lba(start as u64), Bytes(sectors as u64 * SECTOR))
}

/// Sectors that say which write they are of, in each byte of eight.
fn bytes(content: u64, sectors: usize) -> Vec<u8> {
    content.to_le_bytes().repeat(sectors * SECTOR as usize / 8)
}

/// Returns the content of each sector, which has to be whole.
fn contents(medium: &Medium) -> Vec<u64> {
    let mut all = vec![0; SECTORS * SECTOR as usize];
    medium.read(0, &mut all).unwrap();
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let sector = |bytes: &[u8]| {
        let first = number(&bytes[..8]);
        assert!(bytes.chunks(8).all(|eight| number(eight) == first), "a sector is torn");
        first
    };
    all.chunks(SECTOR as usize).map(sector).collect()
}

fn run(steps: &[Step], is_volatile: bool, seed: u64) {
    let mut medium = Medium::new(Box::new(MemoryContents::default()), is_volatile, seed);
    let mut model = vec![Model { now: (0, 0), may_return: Vec::new() }; SECTORS];
    let mut flushes: Vec<(usize, u64)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for (_, covers) in flushes.extract_if(.., |(ends, _)| *ends <= index) {
            medium.flush(covers);
            model.iter_mut().for_each(|sector| sector.flush(covers));
        }
        let content = index as u64 + 1;
        match *step {
            Step::Write { start, sectors, fua } => {
                let new = request(RequestKind::Write { fua }, start, sectors);
                medium.change(&new, &bytes(content, sectors)).unwrap();
                let number = medium.changes;
                model[start..start + sectors].iter_mut().for_each(|sector| {
                    sector.change(number, content, fua || !is_volatile);
                });
            }
            Step::Clear { start, sectors, trim } => {
                let kind = if trim { RequestKind::Trim } else { RequestKind::WriteZeroes { fua: false } };
                medium.change(&request(kind, start, sectors), &[]).unwrap();
                let number = medium.changes;
                model[start..start + sectors].iter_mut().for_each(|sector| sector.change(number, 0, !is_volatile));
            }
            Step::Flush { ends_after } => flushes.push((index + ends_after, medium.begin_flush())),
            Step::CutPower { start, sectors } => {
                let (write, data) =
                    (request(RequestKind::Write { fua: true }, start, sectors), bytes(content, sectors));
                medium.cut_power([(&write, &data[..])].into_iter()).unwrap();
                let found = contents(&medium);
                for (number, (sector, &found)) in model.iter_mut().zip(&found).enumerate() {
                    if (start..start + sectors).contains(&number) {
                        sector.may_return.push((u64::MAX, content));
                    }
                    sector.lose(found);
                }
                assert_eq!(medium.volatile_bytes(), 0);
                flushes.clear();
            }
        }
        let now: Vec<u64> = model.iter().map(|sector| sector.now.1).collect();
        assert_eq!(contents(&medium), now, "what was written last is read");
    }
}

proptest! {
    #[test]
    fn a_loss_of_power_takes_only_what_was_not_flushed(steps in steps(), is_volatile: bool, seed: u64) {
        run(&steps, is_volatile, seed);
    }
}

/// Cuts the power after eight writes of a sector, for many seeds. Returns how often each of them was found.
fn found_after_cuts(is_flushed: bool) -> [u32; 9] {
    let mut found = [0; 9];
    for seed in 0..400 {
        let mut medium = Medium::new(Box::new(MemoryContents::default()), true, seed);
        for content in 1..=8 {
            medium.change(&request(RequestKind::Write { fua: false }, 3, 1), &bytes(content, 1)).unwrap();
        }
        if is_flushed {
            let covers = medium.begin_flush();
            medium.flush(covers);
        }
        medium.cut_power(std::iter::empty()).unwrap();
        found[contents(&medium)[3] as usize] += 1;
    }
    found
}

#[test]
fn all_that_a_drive_may_have_written_back_is_found() {
    let found = found_after_cuts(false);
    assert!(found[8] > 100 && found[7] > 50 && found[6] > 20 && found[..6].iter().sum::<u32>() > 10, "{found:?}");
    assert_eq!(found_after_cuts(true), [0, 0, 0, 0, 0, 0, 0, 0, 400]);
}

#[test]
fn the_cache_is_as_large_as_that_of_a_drive() {
    let mut medium = Medium::new(Box::new(MemoryContents::default()), true, 1);
    let data = vec![1; 1 << 20];
    for number in 0..80 {
        let new = Request::write(Lba(number << 11), Bytes::mib(1));
        medium.change(&new, &data).unwrap();
    }
    assert_eq!(medium.volatile_bytes(), 64 << 20);
    medium.flush(40);
    let left = medium.volatile_bytes();
    assert!((20 << 20..=40 << 20).contains(&left), "{left}");
    medium.flush(80);
    assert_eq!(medium.volatile_bytes(), 0);
}
