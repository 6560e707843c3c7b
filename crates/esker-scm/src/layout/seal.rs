//! Checksums of records. A record is sealed by the checksum of its bytes and of its place, so that one that was written
//! to the wrong place is noticed, too.

use super::number32;

/// Bytes of a checksum. It is the first field of each sealed record.
pub(crate) const SEAL: usize = 4;

/// The checksum of `record`, without its first four bytes, at place number `place`.
fn checksum(record: &[u8], place: u64) -> u32 {
    crc32c::crc32c_append(place as u32 ^ (place >> 32) as u32, &record[SEAL..])
}

/// Writes the checksum into the first four bytes of `record`.
pub(crate) fn seal(record: &mut [u8], place: u64) {
    let sum = checksum(record, place);
    record[..SEAL].copy_from_slice(&sum.to_le_bytes());
}

/// Whether `record` is as it was sealed.
pub(crate) fn is_sound(record: &[u8], place: u64) -> bool {
    number32(record, 0) == checksum(record, place)
}

/// Turns back the one flipped bit without which `record` is sound; false if no bit or more than one would do.
pub(crate) fn turn_back_one_bit(record: &mut [u8], is_sound: impl Fn(&[u8]) -> bool) -> bool {
    let mut found = None;
    for bit in 0..record.len() * 8 {
        record[bit / 8] ^= 1 << (bit % 8);
        let is_right = is_sound(record);
        record[bit / 8] ^= 1 << (bit % 8);
        if is_right && found.replace(bit).is_some() {
            return false;
        }
    }
    if let Some(bit) = found {
        record[bit / 8] ^= 1 << (bit % 8);
    }
    found.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flipped_bit_is_noticed_and_turned_back() {
        // Miri takes its time.
        let (bytes, step) = if cfg!(miri) { (24, 37) } else { (256, 1) };
        let mut record: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
        seal(&mut record, 7);
        assert!(is_sound(&record, 7) && !is_sound(&record, 8), "the place counts");
        for bit in (0..record.len() * 8).step_by(step) {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sound(&flipped, 7));
            assert!(turn_back_one_bit(&mut flipped, |record| is_sound(record, 7)));
            assert_eq!(flipped, record);
        }
        let mut two = record.clone();
        two[9] ^= 1;
        two[20] ^= 64;
        assert!(!turn_back_one_bit(&mut two, |record| is_sound(record, 7)));
    }
}
