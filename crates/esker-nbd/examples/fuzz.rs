//! Gives both sides of the protocol mutated streams by the million, the same ones on every machine: `cargo run
//! --release -p esker-nbd --example fuzz -- [INPUTS PER SIDE] [SEED] [FIRST]`. Ends with status 1 at the first input
//! that makes a session panic, and prints how to repeat it. `-- corpus FOLDER` writes the valid streams, as seeds for
//! cargo-fuzz.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::hostile::{check_client, check_server, corpus, mutated};
use esker_core::Rng;

/// Valid runs from which inputs are made.
const RUNS: u64 = 32;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let (clients, servers) = corpus(RUNS);
    if arguments.next_if(|first| first == "corpus").is_some() {
        let folder = arguments.next().expect("a folder");
        return write_corpus(Path::new(&folder), &clients, &servers).expect("the folder can be written");
    }
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (inputs, seed, first) = (number(1_000_000), number(1), number(0));
    for (side, streams) in [("server", &clients), ("client", &servers)] {
        let mut opened = 0u64;
        for case in first..first + inputs {
            let (run, mut rng) = (case % RUNS, Rng::derive(seed.wrapping_add(case), side));
            let input = mutated(&streams[run as usize], &mut rng);
            let check = || match side {
                "server" => check_server(&input, case),
                _ => check_client(&input, run, case),
            };
            match std::panic::catch_unwind(check) {
                Ok(is_open) => opened += u64::from(is_open),
                Err(_) => {
                    eprintln!("the {side} failed with {}", input.escape_ascii());
                    eprintln!("repeat: cargo run --release -p esker-nbd --example fuzz -- 1 {seed} {case}");
                    std::process::exit(1);
                }
            }
        }
        println!("{side:<10} {inputs} inputs, {opened} of them came as far as requests");
    }
}

/// A client's stream is preceded by nothing, a server's by the number of its run in one byte.
fn write_corpus(folder: &Path, clients: &[Vec<u8>], servers: &[Vec<u8>]) -> std::io::Result<()> {
    for (side, streams) in [("nbd_server", clients), ("nbd_client", servers)] {
        std::fs::create_dir_all(folder.join(side))?;
        for (run, stream) in streams.iter().enumerate() {
            let prefix: &[u8] = if side == "nbd_client" { &[run as u8] } else { &[] };
            std::fs::write(folder.join(side).join(run.to_string()), [prefix, stream].concat())?;
        }
    }
    Ok(())
}
