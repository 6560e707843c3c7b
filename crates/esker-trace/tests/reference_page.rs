//! `docs/formats.md` agrees with the code. `ESKER_UPDATE_DOCS=1` writes it anew.

use std::fmt::Write;
use std::path::PathBuf;

use esker_core::Nanos;
use esker_trace::{FORMATS, Format, FormatCapability, FormatEntry, Operation, Responses, Times, VolumeNames};

const HEAD: &str = "\
<!-- Made from the code: `ESKER_UPDATE_DOCS=1 cargo test -p esker-trace --test reference_page`. Changes by hand are lost. -->
# Trace formats

Every command that takes a trace takes any of these. The format is found from the beginning of the input; only the
headerless ones that caches are traced in go by the ending of the name (`.oracleGeneral`, `.u32`, `.u64`, also with
`.bin` or a compression's behind it). `--format NAME` forces one. gzip, zstd and xz are undone on the way (also by what
is in the file), `-` is standard input. zstd with a window above 32 MiB (`--long`, `-22`) and xz with a dictionary above
32 MiB (`-9`) are refused, since a small file could ask for gigabytes of memory: `zstd -dc --long=31 FILE | esker ... -`
and `xz -dc FILE | esker ... -` read them. Zeros behind gzip data are padding, a byte order mark in front of text in
UTF-8 is passed over, text in UTF-16 has to be converted. The files per CPU of one blktrace recording are one trace;
every other file is one by itself.

Reading is strict: a line that does not read as its format demands is an error with its place, what was expected and
what was found. `--lenient N` skips and counts up to N such lines. Compressed input that is cut off, an empty file, a
file that is no block trace and a recording of completions only are errors, too. A trace has at most 65,536 volumes.

Records come out in order of time. One that comes late is put into its place if it is at most a second late and passes
at most 65,536 records (to within 256), or what `--reorder` and `--reorder-records` say; how many there were is said.
Anything farther out of order is an error. Equal times keep their order. Requests that read, write or trim nothing are
counted and left out. Trims of 4 GiB and more become several, which is said; reads and writes are shorter.

Requests and completions that come as events are paired by what names both, else by their range: a completion ends the
oldest request for that range, and the part of a merged or split one. A request waits at most 10 s and 65,536 requests
for it. How many completions could have been those of several requests is said.

Times are kept to the nanosecond, since 1970 where the format has absolute times, else since the trace's own zero.
What a writer has no place for is an error if it is an operation, an address or a length; the error names the record
and the formats that hold it. Anything else that is not read back as it was is counted, and said in a line each with
the first record: times and response times that are dropped, rounded down or cut to the longest; response times of 0
(or below the unit) where 0 stands for unknown; unknown ones where the format has to have one, so that 0 is written;
response times that a reader will pair otherwise; times of a trace that has none; names of volumes that the format
cannot hold. Formats that count time from the trace's own start begin at zero when they are written from absolute
times, which is said. Only volumes of which there are requests take a place.

What is written has the format that the output's name ends in (`.spc`, `.esker`), also before `.zst` or `.gz`. Where
several formats share an ending (`.csv`), or none has it, `--to NAME` says which; a `--to` that contradicts it is an error.
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
    page += "\nR reads, W writes, T trims, F flushes: what can be written; see below for what is made of the rest in reading.\n";
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
        "docs/formats.md is not what the code says: ESKER_UPDATE_DOCS=1 cargo test -p esker-trace --test reference_page"
    );
}
