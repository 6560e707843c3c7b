//! What the arms of disks did: where the time of the first requests went, a column each, as far as a disk has recorded
//! them. The template draws it itself.

use esker_core::words::page;
use esker_results::{DiskAccess, DiskAccessKind, DiskTimeline, RunResults};

use crate::bars::{Scale, Tick};
use crate::stretch::{Column, Entry, Rect};

/// More columns would be thinner than two pixels.
const COLUMNS_MAX: usize = 240;
/// With more disks the page would be nothing but pictures of arms.
const DISKS_MAX: usize = 4;

/// One part of a response time.
struct AccessPart {
    time_ns: fn(&DiskAccess) -> u64,
    /// Selects the colour.
    part: usize,
    /// Word in the legend, and its term in the glossary.
    word: &'static str,
    term: &'static str,
}

/// From the bottom of a column to its top.
static PARTS: &[AccessPart] = &[
    AccessPart { time_ns: transfer, part: 0, word: "transfer", term: "disk_transfer" },
    AccessPart { time_ns: rotation, part: 2, word: "rotation", term: "disk_rotation" },
    AccessPart { time_ns: seek, part: 4, word: "seek", term: "disk_seek" },
    AccessPart { time_ns: rest, part: 1, word: "buffer and link", term: "disk_buffer" },
    AccessPart { time_ns: wait, part: 3, word: "wait", term: "disk_wait" },
];

fn transfer(access: &DiskAccess) -> u64 {
    access.transfer_ns
}
fn rotation(access: &DiskAccess) -> u64 {
    access.rotation_ns
}
fn seek(access: &DiskAccess) -> u64 {
    access.seek_ns
}
/// Before the arm turned to it.
fn wait(access: &DiskAccess) -> u64 {
    access.start_ns.saturating_sub(access.arrival_ns)
}
/// After the arm, or the buffer, had it.
fn rest(access: &DiskAccess) -> u64 {
    let medium = access.start_ns + access.seek_ns + access.rotation_ns + access.transfer_ns;
    access.end_ns.saturating_sub(medium)
}

/// The picture of one disk.
#[derive(Debug)]
pub(crate) struct ArmPicture<'a> {
    pub(crate) name: &'a str,
    /// Requests shown.
    pub(crate) count: f64,
    /// From the first arrival shown to the last end.
    pub(crate) span_us: f64,
    pub(crate) sentence: String,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) columns: Vec<Column>,
    pub(crate) legend: Vec<Entry>,
    pub(crate) timeline: &'a DiskTimeline,
}

/// The pictures of a run's disks that have recorded a timeline.
pub(crate) fn of_run(run: &RunResults) -> Vec<ArmPicture<'_>> {
    let timelines =
        run.devices.iter().filter_map(|(name, device)| Some((name, device.disk.as_ref()?.timeline.as_ref()?)));
    timelines.filter_map(|(name, timeline)| of_disk(name, timeline)).take(DISKS_MAX).collect()
}

fn of_disk<'a>(name: &'a str, timeline: &'a DiskTimeline) -> Option<ArmPicture<'a>> {
    // The host does not wait for what is on its way from the buffer to the medium.
    let mut requests: Vec<&DiskAccess> =
        timeline.accesses.iter().filter(|access| access.kind != DiskAccessKind::EarlyWrite).collect();
    requests.sort_by_key(|access| (access.arrival_ns, access.end_ns));
    requests.truncate(COLUMNS_MAX);
    let response = |access: &DiskAccess| (access.end_ns - access.arrival_ns) as f64 / 1e3;
    let longest = requests.iter().map(|access| response(access)).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let scale = Scale::over(&[longest]);
    let count = requests.len() as f64;
    let columns = requests.iter().enumerate().map(|(index, access)| Column {
        x: round(100.0 * index as f64 / count),
        width: round(80.0 / count),
        kind: if access.kind == DiskAccessKind::Write { "write" } else { "read" }.to_string(),
        tip: tip(access, response(access)),
        rects: rects(access, &scale),
    });
    let first = requests.iter().map(|access| access.arrival_ns).min()?;
    let last = requests.iter().map(|access| access.end_ns).max()?;
    let legend = legend(&requests);
    let tick =
        |value: f64| Tick { at: round(100.0 - scale.percent(value)), label: page::micros(value).text(), anchor: "end" };
    Some(ArmPicture {
        name,
        count,
        span_us: (last - first) as f64 / 1e3,
        sentence: sentence(&requests, &legend),
        ticks: scale.ticks().into_iter().map(tick).collect(),
        columns: columns.collect(),
        legend,
        timeline,
    })
}

fn rects(access: &DiskAccess, scale: &Scale) -> Vec<Rect> {
    let mut below = 0.0;
    let rects = PARTS.iter().filter_map(|part| {
        let time = (part.time_ns)(access) as f64 / 1e3;
        let (from, to) = (scale.percent(below), scale.percent(below + time));
        below += time;
        (to > from).then(|| Rect { part: part.part, y: round(100.0 - to), height: round(to - from) })
    });
    rects.collect()
}

fn legend(requests: &[&DiskAccess]) -> Vec<Entry> {
    let sum = |part: &AccessPart| requests.iter().map(|access| (part.time_ns)(access) as f64).sum::<f64>();
    let all: f64 = PARTS.iter().map(sum).sum();
    let entry = |part: &AccessPart| {
        let sum = sum(part);
        (sum > 0.0).then(|| Entry { part: part.part, word: part.word, term: part.term, share: sum / all })
    };
    PARTS.iter().filter_map(entry).collect()
}

/// What most of the time went into, and how many the buffer answered.
fn sentence(requests: &[&DiskAccess], legend: &[Entry]) -> String {
    let most = legend.iter().max_by(|one, other| one.share.total_cmp(&other.share));
    let buffered = requests.iter().filter(|access| access.kind == DiskAccessKind::BufferedRead).count();
    let mut text = most.map_or_else(String::new, |most| {
        format!("Most of their time, {}, went into: {}.", page::share(most.share).text(), most.word)
    });
    if buffered > 0 {
        text += &format!(" The buffer answered {} of them.", page::count(buffered as f64).text());
    }
    text
}

/// "Read of 4 KiB, 9 ms in all: transfer 0.1 ms, seek 4 ms."
fn tip(access: &DiskAccess, response_us: f64) -> String {
    let kind = match access.kind {
        DiskAccessKind::Write => "Write",
        DiskAccessKind::BufferedRead => "Read from the buffer",
        DiskAccessKind::Read | DiskAccessKind::EarlyWrite => "Read",
    };
    let parts = PARTS.iter().map(|part| (part.word, (part.time_ns)(access))).filter(|(_, time)| *time > 0);
    let parts: Vec<String> =
        parts.map(|(word, time)| format!("{word} {}", page::micros(time as f64 / 1e3).text())).collect();
    let (size, whole) = (page::bytes(access.length_bytes as f64).text(), page::micros(response_us).text());
    format!("{kind} of {size}, {whole} in all: {}.", parts.join(", "))
}

fn round(percent: f64) -> f64 {
    (percent * 1e2).round() / 1e2
}

#[cfg(test)]
mod tests {
    use esker_results::{DeviceReport, DiskReport};

    use super::*;
    use crate::samples;

    fn access(kind: DiskAccessKind, arrival_ms: u64, start_ms: u64, parts_ms: [u64; 3], end_ms: u64) -> DiskAccess {
        let ns = |millis: u64| millis * 1_000_000;
        let [seek, rotation, transfer] = parts_ms;
        DiskAccess {
            kind,
            arm: 0,
            length_bytes: 4_096,
            arrival_ns: ns(arrival_ms),
            start_ns: ns(start_ms),
            seek_ns: ns(seek),
            rotation_ns: ns(rotation),
            transfer_ns: ns(transfer),
            end_ns: ns(end_ms),
            cylinder: (kind != DiskAccessKind::BufferedRead).then_some(7),
        }
    }

    #[test]
    fn a_column_shows_where_the_time_went() {
        let accesses = vec![
            access(DiskAccessKind::Read, 0, 2, [4, 3, 1], 10),
            access(DiskAccessKind::EarlyWrite, 0, 11, [5, 3, 1], 20),
            access(DiskAccessKind::BufferedRead, 1, 4, [0, 0, 0], 6),
            access(DiskAccessKind::Write, 3, 3, [1, 1, 2], 8),
        ];
        let timeline = DiskTimeline { accesses };
        let picture = of_disk("disk", &timeline).unwrap();
        assert_eq!((picture.count, picture.span_us), (3.0, 10_000.0), "the host does not wait for early writes");
        let shares: Vec<(&str, f64)> =
            picture.legend.iter().map(|one| (one.word, (one.share * 20.0).round())).collect();
        assert_eq!(
            shares,
            [("transfer", 3.0), ("rotation", 4.0), ("seek", 5.0), ("buffer and link", 3.0), ("wait", 5.0)]
        );
        assert!(picture.sentence.ends_with("The buffer answered 1 of them."), "{}", picture.sentence);
        let kinds: Vec<&str> = picture.columns.iter().map(|column| column.kind.as_str()).collect();
        assert_eq!(kinds, ["read", "read", "write"]);
        assert!(picture.columns[0].tip.starts_with("Read of 4\u{a0}KiB, 10\u{a0}ms in all: transfer 1\u{a0}ms"));
        // The rectangles of a column stand on each other.
        for column in &picture.columns {
            for pair in column.rects.windows(2) {
                assert!((pair[1].y + pair[1].height - pair[0].y).abs() < 0.02, "{:?}", column.rects);
            }
        }
    }

    #[test]
    fn only_disks_that_recorded_something_have_a_picture() {
        let mut run = samples::run();
        assert!(of_run(&run).is_empty());
        let with = |accesses| DeviceReport {
            disk: Some(DiskReport { timeline: Some(DiskTimeline { accesses }), ..DiskReport::default() }),
            ..DeviceReport::default()
        };
        run.devices.insert("idle".into(), with(vec![]));
        run.devices.insert("busy".into(), with(vec![access(DiskAccessKind::Read, 0, 0, [1, 1, 1], 3)]));
        let names: Vec<&str> = of_run(&run).iter().map(|picture| picture.name).collect();
        assert_eq!(names, ["busy"]);
        let page = crate::render_run(&run).unwrap();
        assert!(page.contains("Where did the time of requests to busy go?"), "the picture is in the page");
        assert!(page.contains("Where was the arm of busy?"), "and so is the arm's way");
    }
}
