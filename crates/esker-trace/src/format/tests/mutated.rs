//! No parser panics, hangs or accepts anything illegal, whatever it reads. `cargo run --release --example fuzz` tries a
//! million of these inputs per format.

use esker_trace::ReadOptions;
use proptest::prelude::*;

use super::mutate;

const CASES: u64 = 1_500;

#[test]
fn mutated_traces_are_read_or_refused() {
    for format in mutate::formats(None) {
        let corpus = mutate::corpus(format);
        for bytes in &corpus {
            let options = ReadOptions { format: Some(format.name.into()), ..ReadOptions::default() };
            assert!(mutate::check(bytes.clone(), &options), "{}: the unchanged trace is valid", format.name);
        }
        let mut whole = 0;
        for case in 0..CASES {
            let (bytes, options) = mutate::case(format, &corpus, 1, case);
            let shown = bytes.clone();
            let read = std::panic::catch_unwind(|| mutate::check(bytes, &options));
            whole += u64::from(read.unwrap_or_else(|_| panic!("{} {case}: {}", format.name, shown.escape_ascii())));
        }
        // The mutations are mild enough that some inputs are read beyond the first line.
        assert!(whole > CASES / 100 || format.name == "esker", "{}: only {whole} of {CASES} were read", format.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000), text in "[0-9a-zA-Z,. \n\t-]{0,500}") {
        mutate::check(bytes.clone(), &ReadOptions::default());
        for format in mutate::formats(None) {
            let options = ReadOptions { format: Some(format.name.into()), lenient: Some(50), ..ReadOptions::default() };
            mutate::check(bytes.clone(), &options);
            mutate::check(text.clone().into_bytes(), &options);
        }
    }
}
