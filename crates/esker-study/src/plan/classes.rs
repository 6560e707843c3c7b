//! Names of classes of data, in words.

use esker_core::words;
use esker_plan::{ClassSettings, DataClasses, HotBins};

/// The name of each class, and last that of data that are never asked for.
pub(super) fn names(classes: &DataClasses, settings: &ClassSettings) -> Vec<String> {
    let bins = classes.classes.iter().map(|class| match class.bins {
        Some(bins) => hot(bins, settings),
        None => "cold".to_string(),
    });
    bins.chain(["never asked for".to_string()]).collect()
}

fn hot(bins: HotBins, settings: &ClassSettings) -> String {
    let HotBins { from, to } = bins;
    let share = |share: &f64| words::percent(*share);
    let size = |size: &esker_core::Bytes| size.to_string();
    let rate = |rate: &u32| format!("{rate}/s");
    let mut parts = vec!["hot".to_string()];
    parts.extend(between([from.reads, to.reads], &settings.read_shares, share).map(|reads| format!("reads {reads}")));
    parts.extend(between([from.size, to.size], &settings.sizes, size).map(|sizes| format!("requests {sizes}")));
    parts.extend(
        between([from.intensity, to.intensity], &settings.intensities, rate).map(|rates| format!("peaks {rates}")),
    );
    parts.join(", ")
}

/// What is in the bins from one number to another of those that begin at `begins`; `None` if these are all.
fn between<T>([from, to]: [u8; 2], begins: &[T], in_words: impl Fn(&T) -> String) -> Option<String> {
    let begin = usize::from(from).checked_sub(1).and_then(|below| begins.get(below));
    match (begin, begins.get(usize::from(to))) {
        (None, None) => None,
        (None, Some(end)) => Some(format!("below {}", in_words(end))),
        (Some(begin), None) => Some(format!("from {}", in_words(begin))),
        (Some(begin), Some(end)) => Some(format!("{} to {}", in_words(begin), in_words(end))),
    }
}

#[cfg(test)]
mod tests {
    use esker_plan::HotBin;

    use super::*;

    #[test]
    fn bins_are_named_by_where_they_begin_and_end() {
        let settings = ClassSettings::kim_33();
        let bin = |reads, size, intensity| HotBin { reads, size, intensity };
        let named = |from, to, settings| hot(HotBins { from, to }, settings);
        let one = bin(0, 1, 1);
        assert_eq!(named(one, one, &settings), "hot, reads below 25 %, requests 8KiB to 32KiB, peaks from 8/s");
        let seventeen = ClassSettings::kim_17();
        let one = bin(3, 3, 0);
        assert_eq!(named(one, one, &seventeen), "hot, reads from 75 %, requests from 128KiB");
        assert_eq!(named(bin(1, 0, 0), bin(2, 3, 0), &settings), "hot, reads 25 % to 75 %, peaks below 8/s");
    }
}
