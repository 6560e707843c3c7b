//! Names of classes of data, in words.

use esker_core::words;
use esker_plan::{ClassSettings, DataClasses, HotBin};

/// The name of each class, and last that of data that are never asked for.
pub(super) fn names(classes: &DataClasses, settings: &ClassSettings) -> Vec<String> {
    let bins = classes.classes.iter().map(|class| match class.bin {
        Some(bin) => hot(bin, settings),
        None => "cold".to_string(),
    });
    bins.chain(["never asked for".to_string()]).collect()
}

fn hot(bin: HotBin, settings: &ClassSettings) -> String {
    let share = |share: &f64| words::percent(*share);
    let size = |size: &esker_core::Bytes| size.to_string();
    let rate = |rate: &u32| format!("{rate}/s");
    let mut parts = vec!["hot".to_string()];
    parts.extend(between(bin.reads, &settings.read_shares, share).map(|reads| format!("reads {reads}")));
    parts.extend(between(bin.size, &settings.sizes, size).map(|sizes| format!("requests {sizes}")));
    parts.extend(between(bin.intensity, &settings.intensities, rate).map(|rates| format!("peaks {rates}")));
    parts.join(", ")
}

/// What is in bin number `bin` of those that begin at `begins`; `None` if there is only one bin.
fn between<T>(bin: u8, begins: &[T], in_words: impl Fn(&T) -> String) -> Option<String> {
    let bin = usize::from(bin);
    match (bin.checked_sub(1).and_then(|below| begins.get(below)), begins.get(bin)) {
        (None, None) => None,
        (None, Some(end)) => Some(format!("below {}", in_words(end))),
        (Some(begin), None) => Some(format!("from {}", in_words(begin))),
        (Some(begin), Some(end)) => Some(format!("{} to {}", in_words(begin), in_words(end))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_named_by_where_they_begin_and_end() {
        let settings = ClassSettings::kim_33();
        let named = |reads, size, intensity| hot(HotBin { reads, size, intensity }, &settings);
        assert_eq!(named(0, 1, 1), "hot, reads below 25 %, requests 8KiB to 32KiB, peaks from 8/s");
        let seventeen = ClassSettings::kim_17();
        assert_eq!(
            hot(HotBin { reads: 3, size: 3, intensity: 0 }, &seventeen),
            "hot, reads from 75 %, requests from 128KiB"
        );
    }
}
