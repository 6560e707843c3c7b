//! Small files that unpack to gigabytes, as the usual settings of gzip, zstd and xz make them. (What was packed with
//! `zstd --long` or `xz -9` is refused.)

use std::fs::File;
use std::io::{BufWriter, Write};

use crate::runner::{asked_for, run_within};
use crate::traces::MEMORY_MAX;

/// What each of them unpacks to, in MiB, unless `ESKER_SOAK_BOMB_MIB` says otherwise: twice what a run may take.
const UNPACKED_MIB: u64 = 128;
/// What is compressed once; the compressed part is then repeated, which all three formats allow.
const PART: usize = 4 << 20;

/// Packs one part.
type Packer = fn(&[u8]) -> Vec<u8>;

fn gz(part: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(part).and_then(|()| packer.finish()).expect("memory can be written")
}

fn zst(part: &[u8]) -> Vec<u8> {
    zstd::encode_all(part, 3).expect("memory can be written")
}

fn xz(part: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 6);
    packer.write_all(part).and_then(|()| packer.finish()).expect("memory can be written")
}

const PACKERS: &[(&str, Packer)] = &[("gz", gz), ("zst", zst), ("xz", xz)];

/// What they are full of: nothing, one line without an end, empty lines, and lines that are requests.
const FILLINGS: &[(&str, &[u8])] =
    &[("zeroes", b"\0"), ("one line", b"1"), ("empty lines", b"\n"), ("requests", b"0,0,4096,r,0.1\n0,8,4096,w,0.1\n")];

fn part(filling: &[u8]) -> Vec<u8> {
    filling.repeat(PART / filling.len())
}

#[test]
fn bombs_do_not_take_memory() {
    let parts = asked_for("ESKER_SOAK_BOMB_MIB", UNPACKED_MIB) * (1 << 20) / PART as u64;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut faults = Vec::new();
    let mut look = |name: &str, options: &[&str]| {
        let arguments: Vec<String> = [&["trace", "info", name, "--threads", "1"], options]
            .concat()
            .iter()
            .map(|word| word.to_string())
            .collect();
        if let Err(fault) = run_within(folder.path(), &arguments, MEMORY_MAX) {
            faults.push(format!("{}: {fault}", arguments.join(" ")));
        }
    };
    for (ending, pack) in PACKERS {
        // Requests are what takes long to read, and are read the same way whatever they were packed with.
        for (what, filling) in FILLINGS.iter().filter(|(what, _)| *what != "requests" || *ending == "zst") {
            let packed = pack(&part(filling));
            let name = format!("{what}.{ending}");
            let mut file = BufWriter::new(File::create(folder.path().join(&name)).expect("the folder can be written"));
            for _ in 0..parts {
                file.write_all(&packed).expect("the folder can be written");
            }
            file.into_inner().expect("it is flushed");
            look(&name, &[]);
            look(&name, &["--format=spc", "--lenient=1000000000000"]);
            // Packed again, some of them fit into a mail.
            let twice = std::fs::read(folder.path().join(&name)).expect("it was just written");
            let name = format!("{what}.{ending}.zst");
            std::fs::write(folder.path().join(&name), zst(&twice)).expect("the folder can be written");
            look(&name, &["--format=esker"]);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
