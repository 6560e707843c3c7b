//! From shares of classes to a place for each record.

use esker_plan::DataClasses;

/// A range of the touched data as they lie side by side, and the part that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedRange {
    pub(super) start: u64,
    pub(super) length: u64,
    /// Place in the list of parts.
    pub(super) part: usize,
}

/// Gives each touched record to a part: of each class, in order of address, as many as its share says, spread evenly.
/// `shares[class][part]`: the shares of a class add up to one.
pub(super) fn place(classes: &DataClasses, shares: &[Vec<f64>]) -> Vec<PlacedRange> {
    let mut owed: Vec<Vec<f64>> = shares.iter().map(|shares| vec![0.0; shares.len()]).collect();
    let mut ranges: Vec<PlacedRange> = Vec::new();
    let length = classes.record.0;
    for (number, &class) in (0..).zip(classes.of_records()) {
        let (owed, shares) = (&mut owed[class as usize], &shares[class as usize]);
        owed.iter_mut().zip(shares).for_each(|(owed, share)| *owed += share);
        let most = owed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let part = owed.iter().position(|&one| one == most).expect("the largest is one of them");
        owed[part] -= 1.0;
        let start = number * length;
        match ranges.last_mut().filter(|last| last.part == part) {
            Some(last) => last.length += length,
            None => ranges.push(PlacedRange { start, length, part }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;
    use esker_plan::ClassSettings;
    use esker_trace::{AreaSet, DenseMap, Operation, Record, VolumeIndex};

    use super::*;

    /// A hundred records, every fourth of them hot.
    fn classes() -> DataClasses {
        let record = |number: u64| Record {
            at: Nanos::from_millis(number),
            offset: (number % 100) << 20,
            length: 4096,
            volume: VolumeIndex(0),
            operation: Operation::Read,
            response: None,
        };
        let records: Vec<Record> = (0..100).chain((100..200).filter(|number| number % 4 == 0)).map(record).collect();
        let mut areas = AreaSet::default();
        records.iter().for_each(|record| areas.add(record));
        DataClasses::of(DenseMap::new(&areas), &ClassSettings::kim_33(), || records.iter().copied()).unwrap()
    }

    #[test]
    fn each_part_gets_its_share_of_each_class_to_within_one_record() {
        let classes = classes();
        assert_eq!(classes.classes.len(), 2);
        let shares = [vec![0.3, 0.0, 0.7], vec![0.05, 0.95, 0.0]];
        let ranges = place(&classes, &shares);
        let mut held = [[0_u64; 3]; 2];
        let mut next = 0;
        for range in &ranges {
            assert_eq!(range.start, next, "ranges leave nothing out");
            next += range.length;
            for number in range.start >> 20..(range.start + range.length) >> 20 {
                held[classes.of_records()[number as usize] as usize][range.part] += 1;
            }
        }
        assert_eq!(next, 100 << 20);
        for ((class, shares), held) in classes.classes.iter().zip(&shares).zip(held) {
            for (share, held) in shares.iter().zip(held) {
                assert!((share * class.records as f64 - held as f64).abs() <= 1.0, "{share} of {held}");
            }
        }
        // Whole classes are whole ranges of their records.
        assert_eq!(place(&classes, &[vec![1.0, 0.0], vec![1.0, 0.0]]).len(), 1);
    }
}
