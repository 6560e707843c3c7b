//! Small files that unpack to gigabytes, made with the usual settings of gzip, zstd and xz. (Files packed with `zstd
//! --long` or `xz -9` are refused.)

use std::fs::File;
use std::io::{BufWriter, Write};

use crate::runner::{HANGS, asked_for, run_for};
use crate::traces::MEMORY_MAX;

/// Unpacked size of each file in MiB, unless `ESKER_SOAK_BOMB_MIB` sets it: twice the memory that a run may take.
const UNPACKED_MIB: u64 = 128;
/// Size of the part that is compressed once. The compressed part is then repeated, which all three formats allow.
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

/// What the files are full of: zeroes, one endless line, empty lines, and lines that are requests.
const FILLINGS: &[(&str, &[u8])] =
    &[("zeroes", b"\0"), ("one line", b"1"), ("empty lines", b"\n"), ("requests", b"0,0,4096,r,0.1\n0,8,4096,w,0.1\n")];

fn part(filling: &[u8]) -> Vec<u8> {
    filling.repeat(PART / filling.len())
}

#[test]
fn bombs_do_not_take_memory() {
    let unpacked_mib = asked_for("ESKER_SOAK_BOMB_MIB", UNPACKED_MIB);
    let parts = unpacked_mib * (1 << 20) / PART as u64;
    // Larger files may take longer.
    let time_max = HANGS * unpacked_mib.div_ceil(UNPACKED_MIB) as u32;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut faults = Vec::new();
    let mut look = |name: &str, options: &[&str]| {
        let arguments: Vec<String> = [&["trace", "info", name, "--threads", "1"], options]
            .concat()
            .iter()
            .map(|word| word.to_string())
            .collect();
        if let Err(fault) = run_for(folder.path(), &arguments, MEMORY_MAX, time_max) {
            faults.push(format!("{}: {fault}", arguments.join(" ")));
        }
    };
    for (ending, pack) in PACKERS {
        // Requests take long to read, and are read the same way whatever the compression: so only one of them.
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
            // Packed twice, some of them fit into a mail.
            let twice = std::fs::read(folder.path().join(&name)).expect("it was just written");
            let name = format!("{what}.{ending}.zst");
            std::fs::write(folder.path().join(&name), zst(&twice)).expect("the folder can be written");
            look(&name, &["--format=esker"]);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
