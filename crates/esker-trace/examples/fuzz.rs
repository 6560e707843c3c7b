//! Reads mutated inputs by the million, the same ones on every machine: `cargo run --release -p esker-trace --example
//! fuzz -- [INPUTS PER FORMAT] [SEED] [FORMAT] [FIRST]`. Ends with status 1 at the first input that makes a parser
//! panic or hang, and prints how to repeat it. `-- corpus FOLDER` writes the valid traces that it mutates, as seeds for
//! cargo-fuzz.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

#[path = "../tests/common/mutate.rs"]
mod mutate;

use std::time::{Duration, Instant};

/// The longest time that a small input may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[expect(clippy::disallowed_methods, reason = "it watches for inputs that take forever")]
fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "corpus").is_some() {
        let folder = std::path::PathBuf::from(arguments.next().expect("a folder"));
        return write_corpus(&folder).expect("the folder can be written");
    }
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (inputs, seed) = (number(1_000_000), number(1));
    let only = arguments.next();
    let first: u64 = arguments.next().map_or(0, |text| text.parse().expect("a number"));
    for format in mutate::formats(only.as_deref()) {
        let corpus = mutate::corpus(format);
        let began = Instant::now();
        let (mut read, mut slowest) = (0u64, Duration::ZERO);
        for case in first..first + inputs {
            let (bytes, options) = mutate::case(format, &corpus, seed, case);
            let start = Instant::now();
            let result = std::panic::catch_unwind(|| mutate::check(bytes, &options));
            let took = start.elapsed();
            slowest = slowest.max(took);
            match result {
                Ok(whole) if took < PATIENCE => read += u64::from(whole),
                _ => {
                    let (bytes, options) = mutate::case(format, &corpus, seed, case);
                    eprintln!("{} failed after {took:?} with {options:?}:\n{}", format.name, bytes.escape_ascii());
                    eprintln!(
                        "repeat: cargo run --release -p esker-trace --example fuzz -- 1 {seed} {} {case}",
                        format.name
                    );
                    std::process::exit(1);
                }
            }
        }
        println!(
            "{:<10} {inputs} inputs, {read} read to the end, {:.0} s, slowest {slowest:?}",
            format.name,
            began.elapsed().as_secs_f64()
        );
    }
}

/// Writes each trace behind the byte by which `fuzz_targets/trace_formats.rs` selects its format.
fn write_corpus(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (index, format) in mutate::formats(None).enumerate() {
        for (number, trace) in mutate::corpus(format).iter().enumerate() {
            std::fs::write(
                folder.join(format!("{}-{number}", format.name)),
                [&[2 * index as u8], &trace[..]].concat(),
            )?;
        }
    }
    Ok(())
}
