//! Common parts of tests.

/// Bytes that are written down by hand: hexadecimal numbers with as many digits as bytes need, `'text'` without blanks,
/// and `0*124` for that many zeroes.
pub(crate) fn message(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        if let Some(text) = word.strip_prefix('\'') {
            bytes.extend_from_slice(text.strip_suffix('\'').expect("a quote ends").as_bytes());
        } else if let Some(count) = word.strip_prefix("0*") {
            bytes.resize(bytes.len() + count.parse::<usize>().expect("a number of zeroes"), 0);
        } else {
            assert!(word.len().is_multiple_of(2), "{word} is no whole number of bytes");
            let byte = |at: usize| u8::from_str_radix(&word[at..at + 2], 16).expect("a hexadecimal number");
            bytes.extend((0..word.len()).step_by(2).map(byte));
        }
    }
    bytes
}

/// Compares bytes, and shows both in a way that can be read.
#[track_caller]
pub(crate) fn assert_bytes(found: &[u8], expected: &str) {
    let expected = message(expected);
    assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
}
