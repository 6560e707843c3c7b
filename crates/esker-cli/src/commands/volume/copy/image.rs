//! Raw images, with holes where they have no data.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use esker_core::Bytes;
use rustix::fs::SeekFrom as HoleSeek;

use super::open_image;
use crate::failure::Failure;

/// Zeroes become a hole in whole blocks of this size.
const BLOCK: usize = 4096;

/// An image that is read from its start to its end.
pub(super) struct SourceImage {
    source: Box<dyn Read>,
    /// The same file, if it can tell where its holes are.
    sparse: Option<File>,
    /// Its length, if that is known beforehand.
    pub(super) length: Option<u64>,
    at: u64,
}

/// A part of an image.
pub(super) enum Part {
    /// Number of bytes without data.
    Hole(u64),
    Data(Vec<u8>),
}

impl Part {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Hole(length) => *length,
            Self::Data(bytes) => bytes.len() as u64,
        }
    }

    /// Splits off what is behind the last whole sector. Only the last part of an image has such bytes.
    pub(super) fn split_at_sector(self) -> (Self, Vec<u8>) {
        let rest = self.length() % Bytes::SECTOR.0;
        match self {
            Self::Hole(length) => (Self::Hole(length - rest), vec![0; rest as usize]),
            Self::Data(mut bytes) => {
                let tail = bytes.split_off(bytes.len() - rest as usize);
                (Self::Data(bytes), tail)
            }
        }
    }
}

impl SourceImage {
    /// Opens an image; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self { source: Box::new(esker_files::stdin()), sparse: None, length: None, at: 0 });
        }
        let mut file = open_image(path)?;
        // Pipes have no end to go to.
        let length = file.seek(SeekFrom::End(0)).ok();
        if length.is_some() {
            file.rewind().map_err(|error| super::cannot("read", path, &error))?;
        }
        let sparse = length.and_then(|_| file.try_clone().ok());
        Ok(Self { source: Box::new(file), sparse, length, at: 0 })
    }

    /// Returns the next part: a whole hole, or up to `most` bytes of data. `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> io::Result<Option<Part>> {
        let (mut left, length) = (most as u64, self.length.unwrap_or(u64::MAX));
        if let Some(file) = self.sparse.as_ref().filter(|_| self.at < length) {
            let data = match rustix::fs::seek(file, HoleSeek::Data(self.at)) {
                Ok(data) => data,
                // There is no data behind.
                Err(rustix::io::Errno::NXIO) => length,
                // This file system does not know.
                Err(_) => self.at,
            };
            if data > self.at {
                let hole = data.min(length) - self.at;
                self.at += hole;
                rustix::fs::seek(file, HoleSeek::Start(self.at))?;
                return Ok(Some(Part::Hole(hole)));
            }
            left = left.min(rustix::fs::seek(file, HoleSeek::Hole(self.at)).unwrap_or(length) - self.at);
            rustix::fs::seek(file, HoleSeek::Start(self.at))?;
        }
        let mut bytes = Vec::with_capacity(left as usize);
        self.source.by_ref().take(left).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok((!bytes.is_empty()).then_some(Part::Data(bytes)))
    }
}

/// Divides bytes into runs of whole blocks that are zeroes, and the rest: whether there is data, and how many bytes.
pub(super) fn data_in(bytes: &[u8]) -> impl Iterator<Item = (bool, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let is_data = |block: &[u8]| block.len() < BLOCK || block.iter().any(|&byte| byte != 0);
        let first = is_data(&rest[..rest.len().min(BLOCK)]);
        let blocks = rest.chunks(BLOCK).take_while(|block| is_data(block) == first);
        let length = blocks.map(<[u8]>::len).sum();
        at += length;
        Some((first, length))
    })
}

/// An image that is written from its start to its end.
pub(super) struct NewImage {
    file: File,
    /// Whether it can have holes: a file, and no pipe.
    has_holes: bool,
    at: u64,
    data: u64,
}

impl NewImage {
    pub(super) fn new(file: File) -> Self {
        let has_holes = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Self { file, has_holes, at: 0, data: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        for (is_data, length) in data_in(bytes) {
            if is_data || !self.has_holes {
                self.file.write_all(&bytes[done..done + length])?;
            } else {
                self.file.seek(SeekFrom::Current(length as i64))?;
            }
            self.data += if is_data { length as u64 } else { 0 };
            done += length;
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Ends the image, also where it ends in a hole. Returns the bytes of data.
    pub(super) fn finish(self) -> io::Result<u64> {
        if self.has_holes {
            let end = self.file.metadata()?.len();
            if end < self.at {
                self.file.set_len(self.at)?;
            }
        }
        Ok(self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_are_found_in_whole_blocks() {
        let runs = |bytes: &[u8]| data_in(bytes).collect::<Vec<_>>();
        let mut bytes = vec![0; 5 * BLOCK + 10];
        assert_eq!(runs(&bytes), [(false, 5 * BLOCK), (true, 10)]);
        (bytes[BLOCK], bytes[3 * BLOCK - 1]) = (1, 1);
        assert_eq!(runs(&bytes), [(false, BLOCK), (true, 2 * BLOCK), (false, 2 * BLOCK), (true, 10)]);
        assert_eq!(runs(&[]), []);
    }

    #[test]
    fn holes_of_a_file_are_found_and_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let mut image = NewImage::new(File::create(&path).unwrap());
        let mut bytes = vec![0; 1 << 20];
        bytes[300_000] = 7;
        [&bytes, &vec![0; 1 << 20]].iter().for_each(|bytes| image.write(bytes).unwrap());
        assert_eq!(image.finish().unwrap(), BLOCK as u64);
        let read = std::fs::read(&path).unwrap();
        assert!(read.len() == 2 << 20 && read[..1 << 20] == bytes[..] && read[1 << 20..].iter().all(|&byte| byte == 0));
        let mut source = SourceImage::open(&path).unwrap();
        assert_eq!(source.length, Some(2 << 20));
        let (mut all, mut data) = (0, 0);
        while let Some(part) = source.next(1 << 20).unwrap() {
            all += part.length();
            data += if let Part::Data(bytes) = &part { bytes.iter().filter(|&&byte| byte == 7).count() } else { 0 };
        }
        assert_eq!((all, data), (2 << 20, 1));
    }
}
