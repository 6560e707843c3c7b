//! What an emulated device has done, in words.

use esker_core::words;
use esker_emulate::{EmulationServerStatus, EmulationStatus, Failing, TimeFigures};
use esker_serve::RequestCounts;

use crate::table::{Table, percent};

/// How an emulated device does.
pub(super) fn status(status: &EmulationServerStatus) -> String {
    let EmulationServerStatus { emulation, serving } = status;
    let cache = match emulation.has_volatile_cache {
        true => format!("a volatile write cache with {}", words::bytes(emulation.volatile_bytes as f64)),
        false => "no volatile write cache".to_string(),
    };
    let clients = match serving.connections.len() {
        1 => "1 client".to_string(),
        clients => format!("{clients} clients"),
    };
    format!(
        "{}: {}, {}; {cache}; {clients}\n\n{}",
        serving.export,
        words::bytes(emulation.capacity_bytes as f64),
        condition(emulation),
        served(emulation, &serving.requests)
    )
}

/// Whether it works.
fn condition(emulation: &EmulationStatus) -> String {
    let mut words = vec![if emulation.has_power { "power on" } else { "power off" }.to_string()];
    if emulation.slow != 1.0 {
        words.push(format!("slowed by {}", emulation.slow));
    }
    match emulation.failing {
        Failing::None => {}
        Failing::Writes => words.push("writes fail".to_string()),
        Failing::All => words.push("all requests fail".to_string()),
    }
    words.join(", ")
}

/// What it has served, and how punctually.
pub(super) fn served(emulation: &EmulationStatus, requests: &RequestCounts) -> String {
    let mut text = format!(
        "{} reads ({}), {} writes ({}), {} flushes, {} trims; {} failed; {} power cuts\n",
        words::count(requests.reads),
        words::bytes(requests.read_bytes as f64),
        words::count(requests.writes),
        words::bytes(requests.written_bytes as f64),
        words::count(requests.flushes),
        words::count(requests.trims),
        words::count(requests.failed),
        words::count(emulation.power_cuts),
    );
    let (times, punctuality) = (&emulation.response_times, &emulation.punctuality);
    if punctuality.lateness.count == 0 {
        return text;
    }
    let mut table = Table::new(&["", "number", "mean", "p50", "p99", "p99.9", "max"]);
    let mut row = |name: &str, times: &TimeFigures| {
        if times.count > 0 {
            let values = [times.mean_us, times.p50_us, times.p99_us, times.p999_us, times.max_us];
            let mut cells = vec![name.to_string(), words::count(times.count)];
            cells.extend(values.map(words::time));
            table.row(cells);
        }
    };
    row("response times of reads", &times.reads);
    row("of writes", &times.writes);
    row("of flushes, trims, zeroes", &times.others);
    row("answers were late by", &punctuality.lateness);
    text += &table.render();
    text += &format!("an answer was overdue for {} of the time\n", percent(punctuality.overdue_share));
    if let Some(warning) = punctuality.warning() {
        text += &format!("{warning}\n");
    }
    text
}
