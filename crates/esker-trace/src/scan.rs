//! Reads fields from the front of text: eight bytes at a time, without allocation and without checking for UTF-8.

use esker_core::Nanos;

use crate::Operation;

/// Bytes behind a region that a [`Scanner`] may read (but not use), so that it can always take eight at once.
pub(crate) const PADDING: usize = 16;
/// The longest line that is accepted.
pub(crate) const LONGEST_LINE: usize = 64 << 10;
/// The longest name of a volume.
pub(crate) const LONGEST_NAME: usize = 512;

const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1; 20];
    let mut index = 1;
    while index < 20 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// What a field should have been, and where it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

/// A cursor over whole lines. The region ends with a newline, and [`PADDING`] bytes follow it.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    pub(crate) position: usize,
}

/// Reads up to eight digits from `bytes`: their value, and how many there are.
#[inline(always)]
fn eight_digits(bytes: &[u8]) -> (u64, usize) {
    let digits = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) ^ 0x3030_3030_3030_3030;
    // The high bit of every byte that is not a digit. A carry only reaches bytes after the first such byte.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    let digits = digits << (64 - 8 * count as u32);
    // Combines pairs, then fours and eights, at once.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let value = (pairs & 0x0000_00FF_0000_00FF)
        .wrapping_mul(0x000F_4240_0000_0064)
        .wrapping_add(((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001));
    (value >> 32, count)
}

impl<'a> Scanner<'a> {
    /// A cursor at `position` of `bytes`.
    pub(crate) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    /// The next byte.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        self.bytes[self.position]
    }

    /// The error "expected `what` here".
    #[inline(always)]
    pub(crate) fn expected<T>(&self, what: &'static str) -> Result<T, Expected> {
        Err(Expected { what, at: self.position })
    }

    /// Reads a whole number.
    #[inline(always)]
    pub(crate) fn number(&mut self, what: &'static str) -> Result<u64, Expected> {
        let (value, count) = eight_digits(&self.bytes[self.position..]);
        if count < 8 {
            if count == 0 {
                return self.expected(what);
            }
            self.position += count;
            return Ok(value);
        }
        // A constant, so that the position of the next field does not depend on the number of digits.
        self.position += 8;
        let (more, count) = eight_digits(&self.bytes[self.position..]);
        self.position += count;
        let value = value * POWERS_OF_TEN[count] + more;
        if count < 8 {
            return Ok(value);
        }
        self.rest_of_number(value, what)
    }

    /// Reads on after sixteen digits.
    fn rest_of_number(&mut self, mut value: u64, what: &'static str) -> Result<u64, Expected> {
        let start = self.position - 16;
        while self.peek().is_ascii_digit() {
            let digit = u64::from(self.peek() - b'0');
            value =
                value.checked_mul(10).and_then(|value| value.checked_add(digit)).ok_or(Expected { what, at: start })?;
            self.position += 1;
        }
        Ok(value)
    }

    /// Reads a whole number that fits `u32`.
    #[inline(always)]
    pub(crate) fn number_u32(&mut self, what: &'static str) -> Result<u32, Expected> {
        let at = self.position;
        u32::try_from(self.number(what)?).map_err(|_| Expected { what, at })
    }

    /// Reads a number with or without decimals, in units of 10^`PLACES` nanoseconds: 9 for seconds, 6 for milliseconds.
    /// Digits below a nanosecond are dropped.
    #[inline(always)]
    pub(crate) fn time<const PLACES: u32>(&mut self, what: &'static str) -> Result<Nanos, Expected> {
        let start = self.position;
        let whole = self.number(what)?;
        let mut fraction = 0;
        if self.peek() == b'.' {
            self.position += 1;
            let (value, count) = eight_digits(&self.bytes[self.position..]);
            if count == 6 && PLACES >= 6 {
                // Most programs print six decimals. As in `number`, the next field need not wait.
                self.position += 6;
                fraction = value * const { POWERS_OF_TEN[(PLACES.saturating_sub(6)) as usize] };
            } else {
                fraction = self.fraction(PLACES, value, count);
            }
        }
        if self.peek() | 0x20 == b'e' {
            return self.time_with_exponent(start, PLACES, what);
        }
        whole
            .checked_mul(POWERS_OF_TEN[PLACES as usize])
            .and_then(|whole| whole.checked_add(fraction))
            .map(Nanos)
            .ok_or(Expected { what, at: start })
    }

    /// The value of `count` decimals and those that follow, in units of 10^-`places`.
    #[inline]
    fn fraction(&mut self, places: u32, value: u64, count: usize) -> u64 {
        self.position += count;
        let mut fraction = if count as u32 <= places {
            value * POWERS_OF_TEN[places as usize - count]
        } else {
            value / POWERS_OF_TEN[count - places as usize]
        };
        let mut place = count as u32;
        while count == 8 && self.peek().is_ascii_digit() {
            place += 1;
            if place <= places {
                fraction += u64::from(self.peek() - b'0') * POWERS_OF_TEN[(places - place) as usize];
            }
            self.position += 1;
        }
        fraction
    }

    /// Reads very small numbers as some programs print them: `7.3902e-05`.
    #[cold]
    fn time_with_exponent(&mut self, start: usize, places: u32, what: &'static str) -> Result<Nanos, Expected> {
        while matches!(self.peek(), b'e' | b'E' | b'+' | b'-' | b'0'..=b'9') {
            self.position += 1;
        }
        let value = std::str::from_utf8(&self.bytes[start..self.position])
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .map(|value| (value * POWERS_OF_TEN[places as usize] as f64).round())
            .filter(|value| (0.0..1.8e19).contains(value));
        value.map(|value| Nanos(value as u64)).ok_or(Expected { what, at: start })
    }

    /// Reads a hexadecimal number without prefix.
    #[inline]
    pub(crate) fn hexadecimal(&mut self, what: &'static str) -> Result<u64, Expected> {
        let start = self.position;
        let mut value = 0u64;
        while let Some(digit) = (self.peek() as char).to_digit(16) {
            if value >> 60 != 0 {
                return Err(Expected { what, at: start });
            }
            value = value << 4 | u64::from(digit);
            self.position += 1;
        }
        if self.position == start { self.expected(what) } else { Ok(value) }
    }

    /// Reads exactly `byte`.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8, what: &'static str) -> Result<(), Expected> {
        if self.peek() != byte {
            return self.expected(what);
        }
        self.position += 1;
        Ok(())
    }

    /// Reads exactly `text`, in upper or lower case.
    #[inline(always)]
    pub(crate) fn word(&mut self, text: &[u8], what: &'static str) -> Result<(), Expected> {
        match self.bytes.get(self.position..self.position + text.len()) {
            Some(found) if found.eq_ignore_ascii_case(text) => {
                self.position += text.len();
                Ok(())
            }
            _ => self.expected(what),
        }
    }

    /// Reads one of two bytes that stand for reads and writes (letters are given in lower case and match either case).
    /// Without a branch, because which one comes cannot be predicted.
    #[inline(always)]
    pub(crate) fn one_of(&mut self, read: u8, write: u8, what: &'static str) -> Result<Operation, Expected> {
        let either_case = if read.is_ascii_alphabetic() { 0x20 } else { 0 };
        let byte = self.peek() | either_case;
        if (byte != read) & (byte != write) {
            return self.expected(what);
        }
        self.position += 1;
        Ok(if byte == read { Operation::Read } else { Operation::Write })
    }

    /// Reads one of two words for reads and writes, of up to eight bytes: given in lower case, matched in any.
    #[inline(always)]
    pub(crate) fn either<const R: usize, const W: usize>(
        &mut self,
        read: &[u8; R],
        write: &[u8; W],
        what: &'static str,
    ) -> Result<Operation, Expected> {
        let word = |bytes: &[u8], of: &[u8]| {
            let (mut word, mut either_case) = ([0; 8], [0; 8]);
            word[..of.len()].copy_from_slice(&bytes[..of.len()]);
            for (case, letter) in either_case.iter_mut().zip(of) {
                *case = if letter.is_ascii_alphabetic() { 0x20 } else { 0 };
            }
            u64::from_le_bytes(word) | u64::from_le_bytes(either_case)
        };
        let found = &self.bytes[self.position..self.position + 8];
        let is_read = word(found, read) == word(read, read);
        if !(is_read | (word(found, write) == word(write, write))) {
            return self.expected(what);
        }
        self.position += if is_read { R } else { W };
        Ok(if is_read { Operation::Read } else { Operation::Write })
    }

    /// Reads a comma.
    #[inline(always)]
    pub(crate) fn comma(&mut self) -> Result<(), Expected> {
        self.byte(b',', "a comma")
    }

    /// Skips blanks, if there are any.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.position += 1;
        }
    }

    /// Skips at least one blank.
    #[inline(always)]
    pub(crate) fn gap(&mut self) -> Result<(), Expected> {
        if !matches!(self.peek(), b' ' | b'\t') {
            return self.expected("a space or tab");
        }
        self.blanks();
        Ok(())
    }

    /// Reads a name without blanks, commas or control characters.
    #[inline(always)]
    pub(crate) fn name(&mut self, what: &'static str) -> Result<&'a [u8], Expected> {
        let start = self.position;
        while !matches!(self.peek(), b'\0'..=b' ' | b',' | 0x7f) {
            self.position += 1;
        }
        if self.position == start || self.position - start > LONGEST_NAME {
            return Err(Expected { what, at: start });
        }
        Ok(&self.bytes[start..self.position])
    }

    /// Reads the end of the line, with blanks before it and a carriage return.
    #[inline(always)]
    pub(crate) fn end_of_line(&mut self) -> Result<(), Expected> {
        if self.peek() != b'\n' {
            self.blanks();
            if self.peek() == b'\r' {
                self.position += 1;
            }
        }
        self.byte(b'\n', "the end of the line")
    }

    /// The bytes from `start` up to here.
    #[inline(always)]
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.position]
    }

    /// The rest of the line, without its end.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end])
    }

    /// Skips the rest of the line and its end.
    #[inline]
    pub(crate) fn rest_of_line(&mut self) -> Result<&'a [u8], Expected> {
        let rest = self.rest();
        if rest.len() > LONGEST_LINE {
            return self.expected("a shorter line");
        }
        self.next_line();
        Ok(rest)
    }

    /// Moves to the start of the next line.
    #[inline]
    pub(crate) fn next_line(&mut self) {
        let rest = &self.bytes[self.position..];
        self.position += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn padded(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(b'\n');
        bytes.extend([b'7'; PADDING]);
        bytes
    }

    fn seconds(text: &str) -> Option<u64> {
        let bytes = padded(text);
        let mut scanner = Scanner::new(&bytes, 0);
        let time = scanner.time::<9>("a time").ok()?;
        scanner.end_of_line().ok()?;
        Some(time.0)
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(seconds("0.011413"), Some(11_413_000));
        assert_eq!(seconds("1234567890.123456789999"), Some(1_234_567_890_123_456_789));
        assert_eq!(seconds("5."), Some(5_000_000_000));
        assert_eq!(seconds("7.3902e-05"), Some(73_902));
        assert_eq!(seconds("18446744073.709551615"), Some(u64::MAX));
        assert_eq!(seconds("18446744073.709551616"), None);
        assert_eq!(seconds("-3.2"), None);
        assert_eq!(seconds("1e99"), None);
        let bytes = padded("5265.3131");
        assert_eq!(Scanner::new(&bytes, 0).time::<6>("a time").unwrap(), Nanos(5_265_313_100));
        let bytes = padded("5265.3131239");
        assert_eq!(Scanner::new(&bytes, 0).time::<6>("a time").unwrap(), Nanos(5_265_313_123));
    }

    proptest! {
        #[test]
        fn numbers_read_as_the_standard_library_reads_them(text in "[0-9]{0,22}[a-z, .]?") {
            let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let bytes = padded(&text);
            let mut scanner = Scanner::new(&bytes, 0);
            let read = scanner.number("a number").ok();
            prop_assert_eq!(read, digits.parse::<u64>().ok());
            if read.is_some() {
                prop_assert_eq!(scanner.position, digits.len());
            }
        }

        #[test]
        fn decimals_keep_nine_places(whole in 0..10_000_000_000u64, digits in "[0-9]{0,15}") {
            let nine = format!("{digits:0<9}");
            let expected = whole * 1_000_000_000 + nine[..9].parse::<u64>().unwrap();
            prop_assert_eq!(seconds(&format!("{whole}.{digits}")), Some(expected));
        }

        #[test]
        fn hexadecimals_read_as_the_standard_library_reads_them(text in "[0-9a-fA-F]{0,18}") {
            let bytes = padded(&text);
            let read = Scanner::new(&bytes, 0).hexadecimal("a number").ok();
            let expected = u64::from_str_radix(&text, 16).ok();
            // Sixteen digits at most, not counting leading zeroes.
            prop_assert_eq!(read, expected);
        }
    }
}
