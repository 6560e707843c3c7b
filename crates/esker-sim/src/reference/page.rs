//! `docs/experiments.md`: every key of an experiment file.

use esker_core::registry::{Described, described, plain};
use esker_trace::WORKLOADS;
use schemars::JsonSchema;

use super::choices::{ChoiceCapability, ChoiceEntry, Choices, choices};
use crate::config::{CommonSettings, RunEvent, RunSettings, RunTarget, WorkloadSettings};
use crate::device::{DEVICE_KINDS, schema_of};

const HEAD: &str = r#"# Experiment files

<!-- Made from the code: `ESKER_UPDATE_DOCS=1 cargo test -p esker-sim --test it is_current`. Do not edit. -->

An experiment says what to simulate: the requests (`[workload]`), the devices (`[device.NAME]`), the settings of the run
(`[run]`) and, for a grid of runs, keys with lists of values (`[sweep]`). It is one TOML file, such as:

```toml
[workload.synthetic]                  # or `trace = "db.blkparse.zst"` in `[workload]`
requests = 200_000
read_fraction = "50%"
size = "4KiB"
address = "uniform"
arrivals = { kind = "poisson", rate = "5000/s" }

[device.flash]
preset = "samsung-k9xxg08-slc-32g"    # `esker devices` lists them; what is written here comes before the preset's

[run]
target = "flash"
```

```sh
esker sim experiment.toml -o run.html
```

`examples/` has a file for each kind of use. All else on this page is for looking up.

- Values have units: `"32KiB"`, `"25us"`, `"5y"`, `"15%"`, `"40MB/s"`. `kB`, `MB`, `GB`, `TB`, `PB` are powers of 1000,
  `KiB`, `MiB`, `GiB`, `TiB`, `PiB` powers of 1024.
- A mistake is one line with file, line, column and key; unknown keys suggest the nearest one.
- A table's own keys override those of its preset. If a table within a device, such as `ftl`, has another `kind` than in
  the preset, the keys of the preset do not apply to that table, since the keys of one kind mean nothing to another.
- Results are reproducible: the same experiment gives the same bytes. `config` in a results file is the experiment with
  every default and preset filled in. Numbers in results are described in `docs/schema/results-1.json`.
"#;

const VOLUMES: &str = r#"
Several volumes of one trace lie side by side in the target's address space, in order of appearance, each at a multiple
of 1 MiB. Reads and writes are widened to whole sectors of 512 bytes, trims narrowed to the sectors wholly within them,
so that a trim never drops bytes that nobody trimmed. (A drive drops whole pages only; an array and a hybrid pass trims
on to their devices.)
"#;

const EVENTS: &str = r#"
```toml
[[run.events]]
at = "60s"
device = "disk.0"
slow = 10

[[run.events]]
at = "2min"
device = "disk.0"
slow = 1
```

- At its instant an event is the first thing that happens: before the device's own events, and before requests end or
  arrive. Events of the same instant come in the order of the file. An interval of `series` that ends then has nothing
  of it.
- An event after the end of the last request never happens; `remarks` in the results say so. `run.settle` goes on with
  the devices as they are at the end of the run.
- `slow = 10`: the device's clock runs at a tenth of its speed. Requests in service keep what was done and need ten
  times as long for the rest; those that wait keep their order. What the device does on its own (cleaning, rotation,
  refill of credits) is as slow. A station of 100 us is exactly one of 1 ms then. Factors below 1 make it faster.
- Times and energy in the results of a slowed device are by its own clock; the shares of time that it is busy are by
  that of the run.
- `slow` of a device with others below it is one of each of those: arrays and hybrids take no time of their own.
  Factors do not multiply: for each device, the last one counts.
- The device's clock shows whole nanoseconds: a request to a device that works reaches it at the next tick of its clock,
  less than `slow` nanoseconds later. One to an idle device reaches it at once.
- `shrink = "4GiB"`: the cache above the device, which is its flash, uses the first 4 GiB of it from then on, while it
  serves. Clean lines beyond leave at once, dirty ones after they are copied back, and the policies have a smaller
  cache. It does not grow again; a later event may shrink it further.
- `pause = true`: the hybrid or cluster moves nothing in the background from then on, until an event with
  `pause = false`.
  `moved_bytes_per_day` sets another budget, as `background` of a hybrid does at the start.
- Response times and utilisation are by the clock of the run (work counts in full when it begins, at the speed of then).
  What else the device reports about itself, such as times of seeks and of flash operations, is by its own clock.
"#;

const DEVICES: &str = r#"
## `[device.NAME]`

One table per device. The device that `run.target` names serves the workload; a composite device names its children,
each of which has one parent. Names are made of letters, digits, `-` and `_`. If `child` and `count` make several
devices of one table, these are called `NAME.0`, `NAME.1` and so on in results.
"#;

const SWEEP: &str = r#"
## `[sweep]`

Each key is the dotted key of a setting, and its value a list of values to try:
`"device.flash.cleaning.threshold" = ["5%", "10%"]`. All combinations are run, the first key varying slowest, on all
cores. An item of a list is set by its number, from 0: `"run.events.0.slow" = [1, 10]`. The results of a combination are
one file, named after a hash of its resolved configuration. While that file exists, the combination is not run again. A
summary (`sweep.csv`) has one row per combination. With `--shard 2/8`, the rows of that share of the combinations are in
`sweep-2-of-8.csv`; once the results of all shares are in one folder, `esker sweep` without it runs nothing more, and
writes the whole summary. If a `kind` is swept, each value starts with an empty table.

With `sample`, points are drawn at random instead, each with one value of every key:

```toml
[sweep]
sample = { points = 900, seed = 1 }       # default seed: 1
"workload.synthetic.size" = { from = "2KiB", to = "64KiB", scale = "log", step = "2KiB" }
"workload.synthetic.read_fraction" = { from = "0%", to = "100%" }
"device.flash.cleaning.victim" = ["greedy", "fifo"]
"run.seed" = { from = 1, to = 1000000 }
```

A range has its ends, both in the same unit; with `scale = "log"` there are as many values from 1 to 10 as from 10 to
100 (else they are spread evenly), with `step` only its multiples (else four digits, and whole numbers between whole
ends). Of a list, each value is as likely. Ranges with the same name as `draw` go up and down together, such as a
footprint with the share of the drive that is filled (`examples/ssd-model.toml`). A larger sample begins with the points
of a smaller one, and another key does not change the values of the others.
"#;

/// Returns the page in Markdown.
pub fn experiments_page() -> String {
    let mut page = HEAD.to_string();
    table::<WorkloadSettings>(&mut page, "## `[workload]`");
    page += "\nWorkloads that `synthetic.preset` can name:\n\n| preset | |\n|---|---|\n";
    WORKLOADS.iter().for_each(|preset| page += &format!("| `{}` | {} |\n", preset.name, cell(preset.summary)));
    page += VOLUMES;
    heading::<RunSettings>(&mut page, "## `[run]`");
    let run = [described(&schema_of::<RunTarget>().to_value()), described(&schema_of::<RunSettings>().to_value())];
    rows(&mut page, "key", &run.concat());
    heading::<RunEvent>(&mut page, "### `[[run.events]]`");
    page += EVENTS;
    page += DEVICES;
    table::<CommonSettings>(&mut page, "### Every kind");
    for kind in DEVICE_KINDS {
        let title = format!("### `kind = \"{}\"`", kind.name);
        let presets = (kind.build.presets)();
        page += &format!("\n{title}\n\n{}.\n", kind.summary);
        if !presets.is_empty() {
            page += "\n| preset | |\n|---|---|\n";
            presets.iter().for_each(|preset| page += &format!("| `{}` | {} |\n", preset.name, cell(preset.summary)));
        }
        page += &format!("\n```toml\n{}```\n", kind.build.example);
        rows(&mut page, "key", &kind.parameters.described());
    }
    page += "\n## Choices by name\n";
    choices().iter().for_each(|sort| choose(&mut page, sort));
    page += SWEEP;
    page
}

fn table<T: JsonSchema>(page: &mut String, title: &str) {
    heading::<T>(page, title);
    rows(page, "key", &described(&schema_of::<T>().to_value()));
}

fn heading<T: JsonSchema>(page: &mut String, title: &str) {
    let schema = schema_of::<T>().to_value();
    let description = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    *page += &format!("\n{title}\n\n{}\n", plain(description));
}

fn rows(page: &mut String, what: &str, parameters: &[Described]) {
    *page += &format!("\n| {what} | value | default | meaning |\n|---|---|---|---|\n");
    for Described { name, kind, default, meaning } in parameters {
        *page += &format!("| `{name}` | {} | {} | {} |\n", cell(kind), cell(default), cell(meaning));
    }
}

/// Writes the registry entries that a key can name, with their parameters and capabilities.
fn choose(page: &mut String, Choices { title, key, entries, capabilities, .. }: &Choices) {
    *page += &format!("\n{title}: `{key}`\n\n| name | |\n|---|---|\n");
    for entry in entries {
        *page += &format!("| `{}` | {} |\n", entry.name, cell(entry.summary));
    }
    if !capabilities.is_empty() {
        *page += "\n| can | | |\n|---|---|---|\n";
    }
    for ChoiceCapability { name, meaning, able } in capabilities {
        let names: Vec<String> = able.iter().map(|name| format!("`{name}`")).collect();
        let able = if able.len() == entries.len() { "all".to_string() } else { names.join(", ") };
        *page += &format!("| `{name}` | {} | {able} |\n", cell(meaning));
    }
    for ChoiceEntry { name, source, parameters, .. } in entries {
        if !parameters.is_empty() {
            *page += &format!("\nParameters of `{key} = {{ kind = \"{name}\", ... }}` ({source}):\n");
            rows(page, "parameter", parameters);
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
