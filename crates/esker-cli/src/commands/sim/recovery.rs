//! Describes in words what a power failure did to a drive.

use esker_core::words;
use esker_results::{RecoveryReport, RecoveryWay};

const PAGES: (&str, &str) = ("page", "pages");
const BLOCKS: (&str, &str) = ("block", "blocks");

/// A few lines, each after a line break.
pub(super) fn describe_recovery(report: &RecoveryReport) -> String {
    let RecoveryReport { at_s, duration_s, save_s, saved_pages, .. } = *report;
    let mut lines = vec![format!("power failed at {}: {}", words::duration(at_s), under_way(report))];
    if report.torn_pages + report.torn_blocks > 0 {
        let torn = [several(report.torn_pages, PAGES), several(report.torn_blocks, BLOCKS)];
        lines.push(format!("torn: {}", torn.join(" and ")));
    }
    if report.lost_pages > 0 {
        lines.push(format!("lost with the write buffer: {} of ended writes", several(report.lost_pages, PAGES)));
    }
    if save_s > 0.0 {
        let saved = several(saved_pages, PAGES);
        lines.push(format!(
            "capacitors kept it going for {} to save {saved} of the write buffer",
            words::duration(save_s)
        ));
    }
    let way = match report.way {
        RecoveryWay::FullScan => "by a full scan",
        RecoveryWay::Summaries => "by the summaries of its blocks",
        RecoveryWay::Directory => "through the directory of its map",
    };
    lines.push(format!("served again after {}, {way}: {}", words::duration(duration_s), read(report)));
    lines.push(format!("found again: {}", found(report)));
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

fn under_way(report: &RecoveryReport) -> String {
    let mut text = match report.interrupted_requests {
        0 => "no request was under way".to_string(),
        requests => format!(
            "{} ended with an error ({})",
            several(requests, ("request", "requests")),
            several(report.interrupted_writes, ("write", "writes"))
        ),
    };
    if report.interrupted_operations + report.dropped_operations > 0 {
        text += &format!(
            "; of programs and erases, {} were being done and {} waited",
            words::count(report.interrupted_operations),
            words::count(report.dropped_operations)
        );
    }
    text
}

fn read(report: &RecoveryReport) -> String {
    let mut parts = vec![several(report.spare_area_reads, ("spare area", "spare areas"))];
    if report.scanned_blocks > 0 {
        parts.push(format!("{} page by page", several(report.scanned_blocks, BLOCKS)));
    }
    let others = [
        (report.summary_reads, ("summary", "summaries")),
        (report.map_page_reads, ("page of the map", "pages of the map")),
    ];
    parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| several(*count, *what)));
    let done = [(report.programs, PAGES, "programmed"), (report.erases, BLOCKS, "erased")];
    let done = done.iter().filter(|(count, ..)| *count > 0);
    let done = done.map(|(count, what, how)| format!("; {} {how}", several(*count, *what)));
    format!("{} read{}", parts.join(", "), done.collect::<String>())
}

fn found(report: &RecoveryReport) -> String {
    let mut text = format!("data of {}", several(report.found_pages, PAGES));
    let unlike = [
        (report.older_pages, "hold an earlier write than the last one given to flash"),
        (report.returned_pages, "had been trimmed and came back"),
        (report.missing_pages, "are missing"),
    ];
    for (count, what) in unlike.iter().filter(|(count, _)| *count > 0) {
        text += &format!("; {} {what}", words::count(*count));
    }
    if unlike.iter().all(|(count, _)| *count == 0) {
        text += ", each the last that was given to flash";
    }
    text
}

/// "1 page", "1 234 pages".
fn several(count: u64, (one, more): (&str, &str)) -> String {
    format!("{} {}", words::count(count), if count == 1 { one } else { more })
}
