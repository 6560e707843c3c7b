//! Random experiment files: valid ones in which some keys have odd values, are misspelt, missing or doubled. Numbers
//! that would make a run long (requests, blocks) stay small.

use esker_core::Rng;

/// A key with its possible values. A `bounded` key never gets other numbers. A key that chooses by name also gets the
/// name of everything that is registered for it.
struct Key {
    name: &'static str,
    values: &'static [&'static str],
    bounded: bool,
}

impl Key {
    fn draw(&self, rng: &mut Rng) -> String {
        if !self.bounded && rng.chance(1, 20) {
            return ODD[rng.below(ODD.len() as u64) as usize].to_string();
        }
        let chosen = esker_sim::choices().into_iter().filter(|choices| choices.key == self.name);
        let names = chosen.flat_map(|choices| choices.entries).map(|entry| format!("\"{}\"", entry.name));
        let values: Vec<String> = self.values.iter().map(|value| value.to_string()).chain(names).collect();
        values[rng.below(values.len() as u64) as usize].clone()
    }
}

const fn key(name: &'static str, values: &'static [&'static str]) -> Key {
    Key { name, values, bounded: false }
}

const fn bounded(name: &'static str, values: &'static [&'static str]) -> Key {
    Key { name, values, bounded: true }
}

const COUNTS: &[&str] = &["0", "1", "2", "7", "64", "1000"];
const TIMES: &[&str] = &["\"0ns\"", "\"1ns\"", "\"25us\"", "\"3ms\"", "\"2s\"", "\"1h\"", "\"5y\"", "\"584y\""];
const SHARES: &[&str] = &["\"0%\"", "\"0.1%\"", "\"5%\"", "\"33%\"", "\"50%\"", "\"99.9%\"", "\"100%\"", "\"101%\""];
const SIZES: &[&str] =
    &["\"0B\"", "\"1B\"", "\"512B\"", "\"4KiB\"", "\"6KiB\"", "\"1MiB\"", "\"17MiB\"", "\"1GiB\"", "\"8TiB\""];
const RATES: &[&str] = &["\"0B/s\"", "\"1B/s\"", "\"40MB/s\"", "\"1GB/s\""];
const SWITCHES: &[&str] = &["true", "false"];

/// Wrong values that any key may get.
const ODD: &[&str] = &[
    "0",
    "-1",
    "1",
    "3.5",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "true",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "[1, 2]",
    "{ kind = \"x\" }",
    "\"-1ms\"",
    "\"18446744073709551615ns\"",
    "\"16EiB\"",
    "\"1e9\"",
    "1979-05-27",
    "\"100%%\"",
    "\"9999999999999999999999ns\"",
    "\"0.0000000000001%\"",
    "\"\\u0000\"",
    "\"漢字\"",
    "[[[[]]]]",
];

const WORKLOAD: &[Key] = &[
    key("synthetic.read_fraction", SHARES),
    key("synthetic.trim_fraction", SHARES),
    bounded(
        "synthetic.size",
        &["\"4KiB\"", "\"512B\"", "\"64KiB\"", "\"1B\"", "[{ size = \"4KiB\", weight = 1 }]", "[]"],
    ),
    key(
        "synthetic.address",
        &[
            "\"uniform\"",
            "\"sequential\"",
            "{ kind = \"zipf\", exponent = 1.0 }",
            "{ kind = \"zipf\", exponent = -5.0 }",
            "{ kind = \"zipf\", exponent = 1e300 }",
            "{ kind = \"hot-cold\", hot_share = \"10%\", hot_accesses = \"90%\" }",
            "{ kind = \"hot-cold\", hot_share = \"0%\", hot_accesses = \"100%\" }",
        ],
    ),
    key("synthetic.sequential_fraction", SHARES),
    key("synthetic.footprint", SIZES),
    key("synthetic.alignment", SIZES),
    key(
        "synthetic.arrivals",
        &[
            "{ kind = \"poisson\", rate = \"1000/s\" }",
            "{ kind = \"poisson\", rate = \"1/h\" }",
            "{ kind = \"fixed\", rate = \"0/s\" }",
            "{ kind = \"fixed\", rate = \"1000000/us\" }",
            "{ kind = \"bursty\", rate = \"40/s\", on = \"500ms\", off = \"2s\" }",
            "{ kind = \"bursty\", rate = \"40/s\", on = \"0ns\", off = \"584y\" }",
        ],
    ),
    key("synthetic.seed", COUNTS),
    key("time_scale", SHARES),
    key("queue_depth", &["1", "4", "16", "100000"]),
    bounded("head", COUNTS),
    key("beyond_capacity", &["\"error\"", "\"wrap\"", "\"clip\"", "\"dense\"", "\"spread\""]),
];

const RUN: &[Key] = &[
    key("seed", COUNTS),
    bounded("warm_up_requests", COUNTS),
    key("series", &["\"0s\"", "\"10ms\"", "\"1s\"", "\"5y\""]),
    key("timeline", &["0", "10", "10001"]),
    key("wait_limit", TIMES),
    key("backlog_limit", COUNTS),
];

const COMMON: &[Key] = &[key("precondition", &["\"none\"", "\"filled\"", "\"steady\""]), key("utilisation", SHARES)];

const SSD: &[Key] = &[
    key("over_provisioning", SHARES),
    key("spare_factor", SHARES),
    key("block_summary", SWITCHES),
    key(
        "ftl",
        &[
            "{ kind = \"dftl\", cache = \"1KiB\" }",
            "{ kind = \"dftl\", cache = \"0B\" }",
            "{ kind = \"fast\", log = \"100%\" }",
            "{ kind = \"last\", log = \"10%\", sequential = \"0%\" }",
            "{ kind = \"superblock\", blocks = 0 }",
        ],
    ),
    key("cleaning.victim", &[]),
    key("cleaning.threshold", SHARES),
    key("cleaning.gradual", SHARES),
    key("cleaning.background", SHARES),
    key("cleaning.idle_before_background", TIMES),
    key("cleaning.separate", &["\"none\"", "\"copied\"", "\"hot-cold\""]),
    key("cleaning.hot_window", SHARES),
    key("pool", &["\"plane\"", "\"die\"", "\"package\"", "\"gang\"", "\"device\""]),
    key("write_frontiers", &["\"die\"", "\"plane\"", "\"pool\""]),
    key("queue_depth", COUNTS),
    key("endurance_cycles", COUNTS),
    bounded("geometry.channels", &["0", "1", "2", "3"]),
    bounded("geometry.packages_per_channel", &["0", "1", "2"]),
    bounded("geometry.dies_per_package", &["0", "1", "2"]),
    bounded("geometry.planes_per_die", &["0", "1", "4", "5"]),
    bounded("geometry.blocks_per_plane", &["0", "1", "3", "20"]),
    bounded("geometry.pages_per_block", &["0", "1", "16", "33"]),
    bounded("geometry.page_size", &["\"512B\"", "\"4KiB\"", "\"5000B\"", "\"16KiB\"", "\"0B\""]),
    key("geometry.spare_size", SIZES),
    key("timing.page_read", TIMES),
    key("timing.page_program", TIMES),
    key("timing.block_erase", TIMES),
    key("timing.blocks_per_erase", COUNTS),
    key("timing.bus_rate", RATES),
    key("array.copy_back", &["\"off\"", "\"unchecked\"", "\"checked\""]),
    key("array.stripe", &["[\"channel\", \"package\", \"die\", \"plane\"]", "[]", "[\"die\", \"die\"]"]),
    key("array.placement", &["\"turns\"", "\"least-loaded\""]),
    key("array.gang", &["\"shared-bus\"", "\"shared-control\"", "\"synchronous\""]),
    key("array.multi_plane", &["\"off\"", "\"pairs\"", "\"any\""]),
    key("array.scheduling", &["\"fifo\"", "\"reads-first\"", "\"out-of-order\""]),
    key("array.details", SWITCHES),
    key("write_buffer", &["{ size = \"1MiB\", latency = \"10us\" }", "{ size = \"0B\", latency = \"5y\" }"]),
    key("write_buffer.high_water", SHARES),
    key("write_buffer.low_water", SHARES),
    key("controller", &["{ commands_per_second = 50_000 }", "{ write_rate = \"90MB/s\", copy_rate = \"1B/s\" }", "{}"]),
    key("power_failure", &["{ at = \"20ms\" }", "{ after_requests = 100 }", "{ after_operations = 0 }", "{}"]),
];

const HDD: &[Key] = &[
    key("capacity", SIZES),
    key("rotation_speed", &["\"15000rpm\"", "\"0rpm\"", "\"1rpm\"", "\"99999999rpm\""]),
    key("surfaces", COUNTS),
    key(
        "zones",
        &["[]", "[{ cylinders = 10, sectors_per_track = 100 }]", "[{ cylinders = 0, sectors_per_track = 0 }]"],
    ),
    key("layout", &["{ cylinders_per_group = 3, alternate_surfaces = true }", "{ cylinders_per_group = 0 }"]),
    key("head_switch", TIMES),
    key("write_settle", TIMES),
    key("read_overhead", TIMES),
    key("bus_rate", RATES),
    key("scheduler", &["\"sstf\""]),
    key("queue_depth", COUNTS),
    key("cache.segment_size", SIZES),
    key("cache.read_ahead", SIZES),
    key("cache.write_back", SIZES),
    key("cache.write_batch", SIZES),
];

const STATION: &[Key] =
    &[key("service_time", TIMES), key("servers", COUNTS), key("capacity", SIZES), key("queue_depth", COUNTS)];

const OVER_OTHERS: &[Key] = &[
    key("stripe", SIZES),
    key("extent", SIZES),
    key("queue_depth", COUNTS),
    key("count", &["0", "1", "2", "9"]),
    key("child", &["\"disk\"", "\"top\"", "\"nobody\""]),
    key("children", &["[\"flash\", \"disk\"]", "[]", "[\"top\"]", "[\"flash\", \"flash\"]"]),
    key("allocate", &["\"at-start\"", "\"on-write\""]),
    key("policy", &["{ kind = \"static-split\", weights = [1, 0] }", "{ kind = \"static-split\", weights = [] }"]),
    key("level", &["\"0\"", "5"]),
];

/// The lines of a table: valid ones, and some that change them.
struct Table {
    head: &'static str,
    lines: Vec<(String, String)>,
}

impl Table {
    fn new(head: &'static str, sound: &[(&str, &str)]) -> Self {
        Self { head, lines: sound.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect() }
    }

    /// Sets some of `keys`, sometimes to nonsense.
    fn vary(&mut self, keys: &[Key], rng: &mut Rng) {
        for _ in 0..rng.below(3) {
            let key = &keys[rng.below(keys.len() as u64) as usize];
            let value = key.draw(rng);
            match self.lines.iter_mut().find(|(name, _)| name == key.name) {
                Some(line) => line.1 = value,
                None => self.lines.push((key.name.to_string(), value)),
            }
        }
    }

    fn write(&self, into: &mut String) {
        *into += &format!("[{}]\n", self.head);
        for (name, value) in &self.lines {
            *into += &format!("{name} = {value}\n");
        }
        into.push('\n');
    }
}

/// A random experiment file.
pub(crate) fn experiment(rng: &mut Rng) -> String {
    let requests = ["1", "30", "500", "2000"][rng.below(4) as usize];
    let mut workload = Table::new("workload", &[("synthetic.requests", requests), ("synthetic.size", "\"4KiB\"")]);
    if rng.chance(3, 4) {
        workload.lines.push(("synthetic.arrivals".into(), "{ kind = \"poisson\", rate = \"500/s\" }".into()));
    }
    let mut flash = Table::new(
        "device.flash",
        &[
            ("preset", "\"samsung-k9xxg08-slc-32g\""),
            ("geometry.channels", "1"),
            ("geometry.blocks_per_plane", "24"),
            ("geometry.pages_per_block", "16"),
            ("over_provisioning", "\"25%\""),
        ],
    );
    let mut disk = Table::new("device.disk", &[("preset", "\"ibm-ultrastar-36z15\"")]);
    let mut station = Table::new(
        "device.station",
        &[("kind", "\"constant\""), ("service_time", "\"1ms\""), ("capacity", "\"1GiB\"")],
    );
    let mut top = match rng.below(3) {
        0 => Table::new(
            "device.top",
            &[("kind", "\"array\""), ("level", "\"0\""), ("child", "\"disk\""), ("count", "2")],
        ),
        1 => Table::new(
            "device.top",
            &[("kind", "\"array\""), ("level", "\"0\""), ("child", "\"flash\""), ("count", "2")],
        ),
        _ => Table::new(
            "device.top",
            &[
                ("kind", "\"hybrid\""),
                ("children", "[\"flash\", \"disk\"]"),
                ("policy", "{ kind = \"static-split\", weights = [4, 1] }"),
            ],
        ),
    };
    let target = ["\"flash\"", "\"flash\"", "\"disk\"", "\"station\"", "\"top\""][rng.below(5) as usize];
    let mut run = Table::new("run", &[("target", target)]);
    workload.vary(WORKLOAD, rng);
    run.vary(RUN, rng);
    match target {
        "\"flash\"" => flash.vary(SSD, rng),
        "\"disk\"" => disk.vary(HDD, rng),
        "\"station\"" => station.vary(STATION, rng),
        _ => top.vary(OVER_OTHERS, rng),
    }
    if rng.chance(1, 3) {
        flash.vary(COMMON, rng);
    }
    let mut tables = [workload, flash, disk, station, top, run];
    if rng.chance(1, 5) {
        break_one(&mut tables[rng.below(6) as usize], rng);
    }
    let mut text = String::new();
    tables.iter().for_each(|table| table.write(&mut text));
    text
}

/// Breaks one line: its key misspelt, missing or doubled, or the line cut off.
fn break_one(table: &mut Table, rng: &mut Rng) {
    let at = rng.below(table.lines.len() as u64) as usize;
    match rng.below(5) {
        0 => drop(table.lines.remove(at)),
        1 => {
            let copy = table.lines[at].clone();
            table.lines.push(copy);
        }
        2 => drop(table.lines[at].0.pop()),
        3 => drop(table.lines[at].1.pop()),
        _ => table.lines[at].0 += ".x",
    }
}
