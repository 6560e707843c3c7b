//! The bytes of a virtual disk.

use std::sync::Arc;

/// Bytes that a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;

/// Bytes that images share until one of them changes: the checks of a case copy a disk thousands of times.
const CHUNK: usize = 16 << 10;

/// The bytes of a disk. Its clones share what neither has changed since.
#[derive(Clone)]
pub(crate) struct Image {
    chunks: Vec<Arc<[u8; CHUNK]>>,
    length: usize,
}

impl Image {
    /// Zeroes.
    pub(crate) fn zeroes(length: usize) -> Self {
        let mut image = Self { chunks: Vec::new(), length: 0 };
        image.grow(length);
        image
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Appends zeroes up to `length`.
    pub(crate) fn grow(&mut self, length: usize) {
        let zeroes = Arc::new([0; CHUNK]);
        self.length = length;
        self.chunks.resize(length.div_ceil(CHUNK), zeroes);
    }

    /// The parts of the `length` bytes from `offset` on: for each its chunk, its offset there, and where it begins in
    /// the range.
    fn parts(
        &self,
        offset: usize,
        length: usize,
    ) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> + use<> {
        assert!(offset + length <= self.length, "beyond the end of the disk");
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done;
            let within = at % CHUNK;
            let range = done..length.min(done + CHUNK - within);
            done = range.end;
            (!range.is_empty()).then_some((at / CHUNK, within, range))
        })
    }

    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) {
        for (chunk, within, range) in self.parts(offset, buffer.len()) {
            let length = range.len();
            buffer[range].copy_from_slice(&self.chunks[chunk][within..within + length]);
        }
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        for (chunk, within, range) in self.parts(offset, bytes.len()) {
            let length = range.len();
            Arc::make_mut(&mut self.chunks[chunk])[within..within + length].copy_from_slice(&bytes[range]);
        }
    }

    /// Takes over the sector with this number from `other`.
    pub(crate) fn copy_sector(&mut self, sector: usize, other: &Self) {
        let mut bytes = [0; SECTOR];
        other.read(sector * SECTOR, &mut bytes);
        self.write(sector * SECTOR, &bytes);
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        self.read(0, &mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// Beside an array of bytes, and a copy that stays as it was.
    #[test]
    fn an_image_is_its_bytes_and_a_copy_stays_as_it_was() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let (mut image, mut bytes) = (Image::zeroes(50_000), vec![0; 50_000]);
            let (mut copy, mut copied) = (image.clone(), bytes.clone());
            for _ in 0..20 {
                if rng.chance(1, 5) {
                    (copy, copied) = (image.clone(), bytes.clone());
                }
                let [offset, length, value] = [100_000, 40_000, 256].map(|below| rng.below(below) as usize);
                if offset + length > bytes.len() {
                    bytes.resize(offset + length, 0);
                    image.grow(offset + length);
                }
                bytes[offset..offset + length].fill(value as u8);
                image.write(offset, &vec![value as u8; length]);
                let mut read = vec![1; length];
                image.read(offset, &mut read);
                assert_eq!(read, bytes[offset..offset + length]);
            }
            assert_eq!((image.len(), image.to_vec()), (bytes.len(), bytes));
            assert_eq!(copy.to_vec(), copied);
        }
    }
}
