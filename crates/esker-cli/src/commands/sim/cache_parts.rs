//! The parts of a flash cache, in words.

use esker_core::words;
use esker_results::{CachePartKind, CachePartition, CachePartitionWindow};

use crate::table::{Table, percent};

/// Windows that are shown at most: the last ones.
const SHOWN: usize = 20;
/// Volumes that are shown at most: those with the most accesses.
const VOLUMES_SHOWN: usize = 20;

/// A table of the parts, and one of the splits that were chosen between clean and dirty lines.
pub(super) fn describe(partition: &CachePartition) -> String {
    let (names, what): (fn(usize) -> String, _) = match partition.by {
        CachePartKind::Access => {
            (|place| ["clean, reads", "dirty, writes"][place.min(1)].to_string(), "lines, accesses")
        }
        CachePartKind::Volume => (|place| place.to_string(), "volume"),
    };
    let mut parts: Vec<_> =
        partition.parts.iter().enumerate().filter(|(_, part)| part.hits + part.misses > 0).collect();
    let all = parts.len();
    // Of volumes with as many accesses, the first ones are shown.
    parts.sort_by_key(|(place, part)| (std::cmp::Reverse(part.hits + part.misses), *place));
    parts.truncate(VOLUMES_SHOWN);
    parts.sort_by_key(|(place, _)| *place);
    let mut table = Table::new(&[what, "share", "held", "accesses", "hits"]);
    for (place, part) in parts {
        table.row(vec![
            names(place),
            format!("{} lines", words::count(part.share_lines)),
            format!("{} lines", words::count(part.held_lines)),
            words::count(part.hits + part.misses),
            percent(part.hit_ratio),
        ]);
    }
    let chosen = match (partition.window_bytes, partition.windows.len()) {
        (None, _) => "fixed shares".to_string(),
        (Some(_), 0) => "no window has ended: the shares are equal".to_string(),
        (Some(_), 1) => "shares as chosen after one window".to_string(),
        (Some(_), windows) => format!("shares as chosen after {} windows", words::count(windows as u64)),
    };
    let shown = if all > VOLUMES_SHOWN {
        format!(", the {VOLUMES_SHOWN} of {} volumes with most accesses", words::count(all as u64))
    } else {
        String::new()
    };
    format!("\n  its parts, {chosen}{shown}:{}{}", indented(&table), splits(&partition.windows))
}

/// What was chosen between clean and dirty lines at the end of each window.
fn splits(windows: &[CachePartitionWindow]) -> String {
    let shown = &windows[windows.len().saturating_sub(SHOWN)..];
    if shown.iter().all(|window| window.splits.is_empty()) {
        return String::new();
    }
    let mut table =
        Table::new(&["window ends", "dirty lines", "reads of the backing device", "lines that become dirty"]);
    for window in shown {
        let share = window.shares.last().copied().unwrap_or(0.0);
        let nearest = window
            .splits
            .iter()
            .min_by(|one, other| (one.written_share - share).abs().total_cmp(&(other.written_share - share).abs()));
        let of = |value: Option<f64>| value.map_or(String::new(), percent);
        table.row(vec![
            words::duration(window.ends_s),
            words::percent(share),
            of(nearest.map(|split| split.backing_reads_per_access)),
            of(nearest.map(|split| split.backing_writes_per_access)),
        ]);
    }
    let last = if windows.len() > SHOWN { format!(" in the last {SHOWN}") } else { String::new() };
    format!("\n  the share of dirty lines{last}, and what it lets expect, of all accesses:{}", indented(&table))
}

fn indented(table: &Table) -> String {
    table.render().lines().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use esker_results::{CachePart, CacheSplitCost};

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    fn part(hits: u64) -> CachePart {
        CachePart { share_lines: 1200, held_lines: 700, hits, misses: 1, hit_ratio: 0.5 }
    }

    #[test]
    fn splits_have_their_choice_and_what_it_costs() {
        let split = |written_share, backing_reads_per_access| CacheSplitCost {
            written_share,
            backing_reads_per_access,
            backing_writes_per_access: 0.25,
        };
        let window = CachePartitionWindow {
            ends_s: 2.0,
            shares: vec![0.7, 0.3],
            splits: vec![split(0.3, 0.125), split(0.9, 0.5)],
            ..CachePartitionWindow::default()
        };
        let partition = CachePartition {
            parts: vec![part(1), part(2)],
            window_bytes: Some(1 << 20),
            windows: vec![window],
            ..CachePartition::default()
        };
        let text = lines(&describe(&partition));
        assert_eq!(text[1], "its parts, shares as chosen after one window:");
        assert_eq!(text[4], "clean, reads 1 200 lines 700 lines 2 50.0 %");
        assert_eq!(text.last().unwrap(), "2 seconds 30 % 12.5 % 25.0 %");
    }

    #[test]
    fn volumes_that_were_never_used_are_left_out() {
        let parts = vec![CachePart::default(), part(4)];
        let partition = CachePartition { by: CachePartKind::Volume, parts, ..CachePartition::default() };
        let text = lines(&describe(&partition));
        assert_eq!(text[1], "its parts, fixed shares:");
        assert_eq!(text[4..], ["1 1 200 lines 700 lines 5 50.0 %"]);
        let many = CachePartition { parts: (1..=30).map(part).collect(), ..partition };
        let text = lines(&describe(&many));
        assert!(text[1].contains("the 20 of 30 volumes"), "{text:?}");
        assert_eq!((text.len(), &text[4][..2]), (24, "10"));
    }
}
