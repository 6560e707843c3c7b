//! Traces of every format with random damage.

use std::path::Path;

use esker_trace::{FORMATS, FormatEntry};

use crate::mutate;
use crate::runner::{Ended, asked_for, run_within, seed, try_all};

/// Memory that `esker trace info` may take. Far less than a trace may have, because traces are read as streams.
pub(crate) const MEMORY_MAX: u64 = 64 << 20;

#[test]
fn mutated_traces_are_characterised_or_refused() {
    let cases = asked_for("ESKER_SOAK_TRACES", 200);
    let corpora: Vec<(&FormatEntry, Vec<Vec<u8>>)> =
        FORMATS.iter().map(|format| (format, mutate::corpus(format))).collect();
    let all = cases * corpora.len() as u64;
    let done = try_all(all, |folder, index| {
        let (format, corpus) = &corpora[(index % corpora.len() as u64) as usize];
        one(folder, format, corpus, index / corpora.len() as u64)
    });
    assert!(done > all / 50, "only {done} of {all} were read: the mutations get nowhere");
}

fn one(folder: &Path, format: &'static FormatEntry, corpus: &[Vec<u8>], case: u64) -> Result<Ended, String> {
    let (bytes, options) = mutate::case(format, corpus, seed(), case);
    std::fs::write(folder.join("trace"), &bytes).expect("the folder can be written");
    let mut arguments: Vec<String> = ["trace", "info", "trace", "--threads", "1"].map(String::from).into();
    if let Some(format) = &options.format {
        arguments.push(format!("--format={format}"));
    }
    if let Some(lenient) = options.lenient {
        arguments.push(format!("--lenient={lenient}"));
    }
    arguments.push(format!("--reorder={}ns", options.reorder_time.0));
    run_within(folder, &arguments, MEMORY_MAX).map_err(|fault| {
        let shown = &bytes[..bytes.len().min(2_000)];
        format!("{} {case}: esker {}: {fault}\n{}", format.name, arguments.join(" "), shown.escape_ascii())
    })
}
