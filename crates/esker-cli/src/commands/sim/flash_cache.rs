//! What a flash cache held, in words.

use esker_core::words;
use esker_results::{CacheRouting, CacheWindow, CacheWindowCost, FlashCacheReport};

use crate::table::{Table, percent};

/// Windows that are shown at most: the last ones.
const SHOWN: usize = 20;

/// One line for hits, one for what left, and tables of the windows of a cache that chooses its size, and of its parts.
pub(super) fn describe(cache: &FlashCacheReport) -> String {
    let mut text = format!(
        "\n  {} of its requests hit, {} of the reads; {} written to the flash\n  {} lines left, {} of them dirty; \
         {} cleaned, {} copied back",
        percent(cache.hit_ratio),
        percent(cache.read_hit_ratio),
        words::bytes(cache.flash_written_bytes as f64),
        words::count(cache.evictions),
        words::count(cache.dirty_evictions),
        words::count(cache.cleaned),
        words::bytes(cache.copied_back_bytes as f64),
    );
    if cache.dropped_lines + cache.erased_suspects + cache.revived_suspects > 0 {
        text += &format!(
            "\n  the flash dropped {} lines and erased {} that had left; {} came back before",
            words::count(cache.dropped_lines),
            words::count(cache.erased_suspects),
            words::count(cache.revived_suspects),
        );
    }
    if cache.lost > 0 {
        text += &format!("; {} requests or copies lost", words::count(cache.lost));
    }
    text += &cache.routing.as_ref().map_or_else(String::new, routing);
    text += &windows(&cache.windows).unwrap_or_default();
    text + &cache.partition.as_ref().map_or(String::new(), super::cache_parts::describe)
}

/// What the backing device served of the hits.
fn routing(routing: &CacheRouting) -> String {
    format!(
        "\n  {} of the reads that hit went to the backing device, {} at the end; admission was stopped {} times",
        percent(routing.routed_ratio),
        percent(routing.share_at_end),
        words::count(routing.admission_stops),
    )
}

/// What was chosen at the end of each window, and from what: the latency that each size let expect.
fn windows(all: &[CacheWindow]) -> Option<String> {
    let shown = &all[all.len().saturating_sub(SHOWN)..];
    let sizes = &shown.first()?.expected;
    let share = |cost: &CacheWindowCost| words::percent(cost.left_to_cleaning);
    let mut heads: Vec<String> =
        ["window ends", "left to cleaning", "misses", "valid", "latency", "erases/day"].map(String::from).into();
    heads.extend(sizes.iter().map(|cost| format!("at {}", share(cost))));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for window in shown {
        let CacheWindow { chosen, .. } = window;
        let mut row = vec![
            words::duration(window.ends_s),
            words::percent(window.left_to_cleaning) + note(window),
            percent(chosen.miss_ratio),
            percent(chosen.valid_share),
            words::time(chosen.latency_us),
            words::count(chosen.erases_per_day as u64),
        ];
        row.extend(window.expected.iter().map(|cost| words::time(cost.latency_us)));
        table.row(row);
    }
    let count = match all.len() {
        all if all > SHOWN => format!("the last {SHOWN} of {} windows", words::count(all as u64)),
        1 => "one window".to_string(),
        all => format!("{all} windows"),
    };
    let table: String = table.render().lines().map(|line| format!("\n  {line}")).collect();
    Some(format!("\n  what it chose in {count}, and the latency that each size let expect:{table}"))
}

/// What else is to be said of a choice.
fn note(window: &CacheWindow) -> &'static str {
    match (window.trains, window.keeps_lifetime) {
        (true, _) => ", trained first",
        (false, false) => ", over its budget",
        (false, true) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(ends_s: f64, trains: bool) -> CacheWindow {
        let cost = |left_to_cleaning, latency_us| CacheWindowCost {
            left_to_cleaning,
            miss_ratio: 0.125,
            valid_share: 0.25,
            latency_us,
            erases_per_day: 1234.0,
        };
        let (chosen, expected) = (cost(0.38, 410.0), vec![cost(0.85, 900.0), cost(0.15, 1500.0)]);
        let (left_to_cleaning, keeps_lifetime) = (0.38, true);
        CacheWindow { ends_s, left_to_cleaning, trains, keeps_lifetime, chosen, expected, ..CacheWindow::default() }
    }

    #[test]
    fn routing_is_told_where_it_is_on() {
        let routing =
            CacheRouting { routed_ratio: 0.325, share_at_end: 0.32, admission_stops: 2, ..CacheRouting::default() };
        let text = describe(&FlashCacheReport { routing: Some(routing), ..FlashCacheReport::default() });
        let expected = "\n  32.5 % of the reads that hit went to the backing device, 32.0 % at the end; admission was \
                        stopped 2 times";
        assert!(text.ends_with(expected), "{text}");
        assert!(!describe(&FlashCacheReport::default()).contains("backing device"));
    }

    #[test]
    fn each_window_has_its_choice_and_what_other_sizes_cost() {
        let cache = FlashCacheReport { windows: vec![window(2.0, true), window(4.0, false)], ..Default::default() };
        let text = describe(&cache);
        let (_, table) = text.split_once("let expect:\n").unwrap();
        let lines: Vec<String> =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let expected = [
            "window ends left to cleaning misses valid latency erases/day at 85 % at 15 %",
            "2 seconds 38 %, trained first 12.5 % 25.0 % 410 µs 1 234 900 µs 1.5 ms",
            "4 seconds 38 % 12.5 % 25.0 % 410 µs 1 234 900 µs 1.5 ms",
        ];
        assert_eq!([&lines[0], &lines[2], &lines[3]], expected);
        let many = FlashCacheReport { windows: vec![window(2.0, false); 25], ..Default::default() };
        let text = describe(&many);
        assert!(text.contains("the last 20 of 25 windows") && text.lines().count() == 3 + 1 + 2 + 20, "{text}");
        assert!(!describe(&FlashCacheReport::default()).contains("window"));
    }
}
