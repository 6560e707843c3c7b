//! The hash of the thesis: FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>).

/// Returns the 64-bit FNV-1a hash of `bytes`.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the hash of a number, least significant byte first. In this order the bytes that differ between small
/// numbers are multiplied most often. In the other order the upper bits of the hash, by which partitions are chosen,
/// would hardly differ.
pub fn fnv1a_of(number: u64) -> u64 {
    fnv1a(&number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of the reference implementation.
    #[test]
    fn published_vectors() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv1a(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn small_numbers_differ_in_the_upper_bits() {
        let mut counts = [0u32; 64];
        for number in 0..64_000 {
            counts[(fnv1a_of(number) >> 58) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
