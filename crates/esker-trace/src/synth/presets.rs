//! Named workloads. Each figure in a preset's file has its source beside it.

use esker_core::Preset;

/// Makes the preset of `presets/synthetic/NAME.toml` from its name and a one-line summary for lists.
macro_rules! preset {
    ($name:literal, $summary:literal) => {
        Preset {
            name: $name,
            kind: "synthetic",
            summary: $summary,
            toml: include_str!(concat!("../../presets/synthetic/", $name, ".toml")),
        }
    };
}

/// All named workloads, in the order in which lists show them.
pub static WORKLOADS: &[Preset] = &[
    preset!("wu-dbench", "dbench, one process (Wu 2011, tables III and IV): 76 % reads; locality assumed"),
    preset!("wu-netapp", "the NetApp traces, one process (Wu 2011, tables III and IV): 47 % reads; locality fitted"),
    preset!("wu-postmark", "Postmark with files of 500 to 10,000 bytes (Wu 2011, table I)"),
    preset!("wu-postmark-large", "Postmark with files of 500 to 500,000 bytes (Wu 2011, table II)"),
    preset!("wu-specsfs", "SPECsfs 3.0 at the storage system (Wu 2011, section II.D): 20 % reads; locality assumed"),
    preset!("wu-iozone-0r4w", "IOzone, four processes that write (Wu 2011, figure 9)"),
    preset!("wu-iozone-1r3w", "IOzone, one process reads and three write (Wu 2011, figure 9)"),
    preset!("wu-iozone-2r2w", "IOzone, two processes read and two write (Wu 2011, figure 9)"),
    preset!("wu-iozone-3r1w", "IOzone, three processes read and one writes (Wu 2011, figure 9)"),
    preset!("wu-iozone-4r0w", "IOzone, four processes that read (Wu 2011, figure 9)"),
];

/// The names of all presets.
pub(super) fn names() -> Vec<&'static str> {
    WORKLOADS.iter().map(|preset| preset.name).collect()
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;

    use super::*;
    use crate::{Operation, Record, Synthesiser, SyntheticSettings};

    fn settings(name: &str) -> SyntheticSettings {
        let preset = WORKLOADS.iter().find(|preset| preset.name == name).unwrap();
        toml::from_str(preset.toml).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The share of reads, and the mean sizes of reads and of writes in bytes.
    fn shape(name: &str) -> (f64, f64, f64) {
        let settings = SyntheticSettings { requests: 200_000, ..settings(name) };
        let records: Vec<Record> = Synthesiser::new(&settings, Bytes::gib(4), 1).unwrap().collect();
        let (reads, writes): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| record.operation == Operation::Read);
        let mean = |some: &[&Record]| {
            some.iter().map(|record| f64::from(record.length)).sum::<f64>() / some.len().max(1) as f64
        };
        (reads.len() as f64 / records.len() as f64, mean(&reads), mean(&writes))
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} is not {expected}");
    }

    #[test]
    fn every_preset_makes_requests_and_names_its_source() {
        for (index, preset) in WORKLOADS.iter().enumerate() {
            assert!(WORKLOADS[..index].iter().all(|other| other.name != preset.name));
            assert_eq!(preset.kind, "synthetic");
            assert!(Synthesiser::new(&settings(preset.name), Bytes::gib(4), 1).unwrap().next().is_some());
            assert!(preset.toml.starts_with("# ") && preset.toml.contains("Not shared: "), "{}", preset.name);
        }
    }

    /// Wu 2011, tables III and IV: counts of reads and writes, and their mean sizes.
    #[test]
    fn file_benchmarks_have_the_mix_and_the_sizes_of_the_tables() {
        for (name, [reads, writes], [read_size, write_size]) in [
            ("wu-dbench", [5_315_377.0, 1_690_616.0], [11_853.0, 25_720.0]),
            ("wu-netapp", [43_044.0, 47_626.0], [18_105.0, 6_204.0]),
        ] {
            let (share, read, write) = shape(name);
            near(share, reads / (reads + writes));
            near(read, read_size);
            near(write, write_size);
        }
    }

    /// Wu 2011, tables I and II: what is read to what is written on the fast hybrid with striping.
    #[test]
    fn postmark_reads_as_much_for_each_written_byte_as_in_the_tables() {
        for (name, published) in [("wu-postmark", 509.17 / 118.52), ("wu-postmark-large", 5390.0 / 610.72)] {
            let (share, read, write) = shape(name);
            near(share * read / ((1.0 - share) * write), published);
        }
    }

    /// Wu 2011, section II.D: one read to four writes, 128,401 sectors read to 512,386 written. Chunks differ.
    #[test]
    fn specsfs_has_the_published_mix_and_chunks_that_differ() {
        let (share, read, write) = shape("wu-specsfs");
        near(share, 0.2);
        near(share * read / ((1.0 - share) * write), 128_401.0 / 512_386.0);
        let settings = SyntheticSettings { requests: 400_000, ..settings("wu-specsfs") };
        let mut chunks = std::collections::BTreeMap::<u64, [u32; 2]>::new();
        for record in Synthesiser::new(&settings, Bytes::gib(4), 1).unwrap() {
            chunks.entry(record.offset >> 16).or_default()[usize::from(record.operation == Operation::Read)] += 1;
        }
        // A tenth of 65,536 chunks is busy. Of these, a tenth is read more than written.
        let busy = chunks.values().filter(|[writes, reads]| writes + reads >= 20).collect::<Vec<_>>();
        let read = busy.iter().filter(|[writes, reads]| 4 * reads > writes + reads).count();
        near(busy.len() as f64, 6_554.0);
        near(read as f64, 655.0);
    }

    #[test]
    fn names_of_mixes_say_how_many_of_four_processes_read() {
        for reads in 0..=4 {
            let name = format!("wu-iozone-{reads}r{}w", 4 - reads);
            assert!((shape(&name).0 - f64::from(reads) / 4.0).abs() < 0.005, "{name}");
        }
    }
}
