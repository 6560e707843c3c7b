//! The counts of slots.

use super::super::modes::Trimming;
use super::super::slots::Slots;

/// In a log, most free slots are ahead of its window.
#[test]
fn slots_without_a_line_are_not_used() {
    for log in [false, true] {
        let mut slots = Slots::new(1_000, 200, log, Trimming::Always);
        assert_eq!(slots.used(), 0, "log: {log}");
        for line in 0..30 {
            let slot = slots.take(&mut Vec::new()).unwrap();
            slots.map(line, slot, false);
        }
        assert_eq!(slots.used(), 30, "log: {log}");
        slots.unmap(3, None);
        assert_eq!(slots.used(), 29, "log: {log}");
        // The slots beyond the limit are trimmed: they are not among those that may be used.
        let left = slots.shrink(100).len() as u32;
        assert_eq!((slots.used(), left), (29, 0), "log: {log}");
        let untold = slots.take_untold();
        untold.into_iter().for_each(|range| slots.told(range));
        assert_eq!(slots.used(), 29, "log: {log}");
    }
}
