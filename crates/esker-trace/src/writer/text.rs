//! Writes numbers as text. Each line has several of them: with `format!` they would take most of the time.

/// Digits of the largest number.
const DIGITS: usize = 20;
/// "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Appends a whole number.
#[inline]
pub(crate) fn write_number(output: &mut Vec<u8>, number: u64) {
    write_padded(output, number, 1, b' ');
}

/// Appends a whole number. If it is shorter than `width` (at most 20), `pad` comes before it.
#[inline]
pub(crate) fn write_padded(output: &mut Vec<u8>, mut number: u64, width: usize, pad: u8) {
    let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let (start, length) = (output.len(), digits.max(width));
    // A copy of fixed length that is cut afterwards is faster than a copy of just the digits.
    output.extend_from_slice(&[pad; DIGITS]);
    let mut pairs = output[start + length - digits..start + length].rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if let [digit] = pairs.into_remainder() {
        *digit = b'0' + number as u8;
    }
    output.truncate(start + length);
}

/// Appends a whole number as `0x` and hexadecimal digits.
pub(crate) fn write_hexadecimal(output: &mut Vec<u8>, number: u64) {
    output.extend_from_slice(b"0x");
    let places = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
    output.extend((0..places).rev().map(|place| b"0123456789abcdef"[(number >> (4 * place)) as usize & 15]));
}

/// Appends `value` / 10^`places` with at least `shown` decimals, and all decimals that are not zero.
pub(crate) fn write_decimal(output: &mut Vec<u8>, value: u64, places: u32, shown: u32) {
    let scale = 10u64.pow(places);
    write_number(output, value / scale);
    let mut fraction = value % scale;
    let mut count = places;
    while count > shown && fraction.is_multiple_of(10) {
        fraction /= 10;
        count -= 1;
    }
    if count > 0 {
        output.push(b'.');
        write_padded(output, fraction, count as usize, b'0');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut output = Vec::new();
        write(&mut output);
        String::from_utf8(output).unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_as_the_standard_library_has_them(number in any::<u64>(), bits in 0..64, width in 1..=20usize) {
            let number = number >> bits;
            prop_assert_eq!(text(|output| write_number(output, number)), number.to_string());
            prop_assert_eq!(text(|output| write_padded(output, number, width, b' ')), format!("{number:>width$}"));
            prop_assert_eq!(text(|output| write_padded(output, number, width, b'0')), format!("{number:0width$}"));
            prop_assert_eq!(text(|output| write_hexadecimal(output, number)), format!("{number:#x}"));
        }
    }

    #[test]
    fn decimals_show_what_is_not_zero() {
        let decimal = |value, places, shown| text(|output| write_decimal(output, value, places, shown));
        assert_eq!(decimal(0, 9, 9), "0.000000000");
        assert_eq!(decimal(1_000_000_001, 9, 0), "1.000000001");
        assert_eq!(decimal(1_500_000_000, 9, 6), "1.500000");
        assert_eq!(decimal(7_000_000_000, 9, 0), "7");
        assert_eq!(decimal(42, 0, 0), "42");
    }
}
