//! Sums of bytes as elements of GF(256), with the polynomial x^8 + x^4 + x^3 + x^2 + 1: what RAID-5 and RAID-6 need
//! (Anvin, "The mathematics of RAID-6", section 2). Eight bytes are worked on at once.

/// The polynomial without x^8.
const POLYNOMIAL: u64 = 0x1d;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;

/// Adds `factor` times the bytes of `from` to those of `into`, which are as many.
pub(crate) fn add(factor: u8, from: &[u8], into: &mut [u8]) {
    assert_eq!(from.len(), into.len(), "as many bytes are added as there are");
    let (from, from_rest) = from.as_chunks::<8>();
    let (into, into_rest) = into.as_chunks_mut::<8>();
    for (from, into) in from.iter().zip(into) {
        let product = multiply(factor, u64::from_ne_bytes(*from));
        *into = (u64::from_ne_bytes(*into) ^ product).to_ne_bytes();
    }
    for (from, into) in from_rest.iter().zip(into_rest) {
        *into ^= multiply(factor, u64::from(*from)) as u8;
    }
}

/// Multiplies each of eight bytes by `factor`.
#[inline]
fn multiply(factor: u8, bytes: u64) -> u64 {
    let (mut factor, mut power, mut product) = (factor, bytes, 0);
    while factor > 0 {
        if factor & 1 == 1 {
            product ^= power;
        }
        factor >>= 1;
        let carries = (power >> 7) & LOW_BITS;
        power = ((power & !(LOW_BITS << 7)) << 1) ^ (carries * POLYNOMIAL);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies as polynomials are multiplied on paper.
    fn by_hand(a: u8, b: u8) -> u8 {
        let product = (0..8).filter(|bit| b >> bit & 1 == 1).fold(0u16, |sum, bit| sum ^ u16::from(a) << bit);
        (8..15).rev().fold(product, |rest, bit| if rest >> bit & 1 == 1 { rest ^ 0x11d << (bit - 8) } else { rest })
            as u8
    }

    #[test]
    fn all_products_are_those_of_polynomials() {
        let bytes: Vec<u8> = (0..=255).chain(0..3).collect();
        for factor in 0..=255 {
            let mut sums = vec![0x5a; bytes.len()];
            add(factor, &bytes, &mut sums);
            let expected: Vec<u8> = bytes.iter().map(|&byte| 0x5a ^ by_hand(factor, byte)).collect();
            assert_eq!(sums, expected, "factor {factor}");
        }
    }

    #[test]
    fn one_lost_byte_of_several_is_found_again() {
        // A factor that is not zero has an inverse, so that every product can be undone.
        for factor in 1..=255u8 {
            let inverse = (1..=255).filter(|&other| by_hand(factor, other) == 1).collect::<Vec<u8>>();
            assert_eq!(inverse.len(), 1);
        }
    }
}
