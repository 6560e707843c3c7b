//! `docs/formats.md` agrees with the code. `ESKER_UPDATE_DOCS=1` writes it anew.

use std::fmt::Write;
use std::path::PathBuf;

use esker_core::Nanos;
use esker_trace::{FORMATS, Format, FormatCapability, FormatEntry, Operation, Responses, Times, VolumeNames};

const HEAD: &str = "\
<!-- Made from the code: `ESKER_UPDATE_DOCS=1 cargo test -p esker-trace --test it formats`. Do not edit. -->
# Trace formats

Every command that takes a trace takes any of these formats, and detects which one it is. What a file of yours is read as,
and what esker sees in it:

```sh
esker trace info db.blkparse.zst
esker trace convert db.blkparse.zst --to fio -o replay.log   # replay it with fio
```

A format that is missing is [one file](../CONTRIBUTING.md#a-trace-format-step-by-step).

## Input
- **Detection** reads the beginning of the input. Only the formats of cache traces without a header are recognised
  by the ending of the file name (`.oracleGeneral`, `.u32`, `.u64`, also followed by `.bin` or the ending of a
  compression). `--format NAME` forces a format.
- **Compression**: gzip, zstd and xz are recognised by their content, and decompressed. zstd with a window above 32
  MiB (`--long`, `-22`) and xz with a dictionary above 32 MiB (`-9`) are refused, because a small file could ask for
  gigabytes of memory: `zstd -dc --long=31 FILE | esker ... -` and `xz -dc FILE | esker ... -` read them. Zeros
  behind gzip data are padding.
- **Text**: a byte order mark before text in UTF-8 is skipped. Text in UTF-16 has to be converted.
- **Files**: `-` is standard input. The files per CPU of one blktrace recording are one trace; every other file is a
  trace of its own.

## Reading
- **Errors**: a line that does not follow its format is an error with its position, what was expected and what was
  found. `--lenient N` skips and counts up to N such lines. Also errors are compressed input that is cut off, an
  empty file, a file that is no block trace, a recording with completions only, and a trace with more than 65,536
  volumes.
- **Order**: records come out in order of time. A late record is sorted into its place if it is at most a second
  late and passes at most 65,536 records (to within 256); `--reorder` and `--reorder-records` change these limits.
  The number of such records is reported. A record farther out of order is an error. Records with equal times keep
  their order.
- **Notes**: a line on standard error, or a remark in the results, says what was skipped, sorted or passed over, and
  that a trace in esker's own format was cut off; every command that reads a trace does so, unless with `--quiet`.
- **Sizes**: requests that read, write or trim nothing are counted and left out. Trims of 4 GiB and more are split,
  which is reported; reads and writes of 4 GiB and more are errors.
- **Events**: requests and completions that come as separate events are paired by an identifier that both have.
  Without one they are paired by range: a completion ends the oldest request for its range, or those that were
  merged into it, or a part of one that was split. A request waits for at most 10 s and 65,536 requests. The number
  of completions that could have belonged to several requests is reported.
- **Times** are kept to the nanosecond: since 1970 if the format has absolute times, otherwise since the zero of the
  trace. A trace that counted from its own zero keeps that zero when it is written in a format with absolute times:
  one whose first time is before March 1973 (100,000,000 s) has no absolute times. Where several traces are one
  workload, the time between them is kept if all have absolute times; else all begin at the same time.

## Writing
- The **format** is the one that the ending of the output's name stands for (`.spc`, `.esker`), also before `.zst`
  or `.gz`. If several formats share an ending (`.csv`), or none has it, `--to NAME` selects one. A `--to` that
  contradicts the ending is an error.
- **Errors**: an operation, an address or a length that the format cannot hold is an error. It names the record, and
  the formats that can hold it.
- **Losses**: any other difference that would be read back is counted, and reported in one line with the first such
  record:
  - times and response times that are dropped, rounded down, or cut to the longest that the format holds;
  - response times of 0 (or below the unit) if 0 means unknown, and unknown ones if the format must have one, so
    that 0 is written;
  - response times that a reader will pair with another request;
  - times of a trace that has none;
  - names of volumes that the format cannot hold.
- Formats that count time from the start of the trace begin at zero when they are written from absolute times, which
  is reported.
- Only volumes with requests are written.

## Formats
";

fn times(format: &FormatEntry) -> String {
    match format.build.times {
        Times::None => "none".into(),
        Times::Relative => format!("own zero, {}", unit(format.build.holds.time_unit)),
        Times::Absolute => format!("absolute, {}", unit(format.build.holds.time_unit)),
    }
}

fn unit(nanos: Nanos) -> String {
    if nanos == Nanos(100) { "100 ns".into() } else { nanos.to_string().replacen('1', "1 ", 1).replace("us", "µs") }
}

fn responses(format: &FormatEntry) -> String {
    let unit = unit(format.build.holds.response_unit);
    match format.build.responses {
        Responses::Never => "no".into(),
        Responses::Optional => format!("where known, {unit}"),
        Responses::ZeroIfUnknown => format!("{unit}; 0 is unknown"),
        Responses::Always => format!("always, {unit}"),
    }
}

fn operations(format: &FormatEntry) -> String {
    let letters = format.build.holds.operations.iter().map(|operation| match operation {
        Operation::Read => "R",
        Operation::Write => "W",
        Operation::Trim => "T",
        Operation::Flush => "F",
    });
    letters.collect::<Vec<_>>().join(" ")
}

fn volumes(format: &FormatEntry) -> &'static str {
    match format.build.holds.volumes {
        VolumeNames::One => "one",
        VolumeNames::Number(_) => "numbered",
        VolumeNames::HostAndNumber => "HOST.DISK",
        VolumeNames::MajorMinor => "MAJOR,MINOR",
        VolumeNames::Word => "names without blanks",
        VolumeNames::Text => "any names",
    }
}

fn page() -> String {
    let mut page = String::from(HEAD);
    page += "\n| format | what it is | times | response times | operations | offset, length in | volumes |\n";
    page += "|---|---|---|---|---|---|---|\n";
    for format in FORMATS {
        let row = [
            format!("[`{0}`](#{0})", format.name),
            format.summary.to_string(),
            times(format),
            responses(format),
            operations(format),
            format!("{}, {} B", format.build.holds.offset_unit, format.build.holds.length_unit),
            volumes(format).to_string(),
        ];
        writeln!(page, "| {} |", row.join(" | ")).unwrap();
    }
    page += "\nR reads, W writes, T trims, F flushes: the operations that can be written. The sections below say what reading makes of others.\n";
    for format in FORMATS {
        let Format { endings, layout, remarks, binary, .. } = &format.build;
        let kind = if *binary { "Binary" } else { "Text" };
        let written = if format.can(FormatCapability::Write) { "read and written" } else { "read only" };
        write!(page, "\n## {}\n{}. {kind}, {written}.\n", format.name, format.summary).unwrap();
        write!(page, "\n- Layout: {layout}.\n- Kept and lost: {remarks}.\n- Source: {}.\n", format.source).unwrap();
        let endings: Vec<String> = endings.iter().map(|ending| format!("`.{ending}`")).collect();
        writeln!(page, "- Names end in {}.", endings.join(" or ")).unwrap();
    }
    page
}

#[test]
fn the_page_of_formats_is_what_the_code_says() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md"));
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page(),
        "docs/formats.md is not what the code says: ESKER_UPDATE_DOCS=1 cargo test -p esker-trace --test it formats"
    );
}
