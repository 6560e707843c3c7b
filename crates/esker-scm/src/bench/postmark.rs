//! Postmark's workload: many small files that are made, read, appended to and unlinked, as a mail server does
//! (figure 30 of Wu: 10,000 files of 4 to 40 KiB in 100 directories, 400,000 transactions).

use super::Clock;
use super::target::{Target, TargetError};
use esker_core::{Nanos, Rng};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Postmark {
    /// Files that there are at the beginning.
    pub files: u64,
    /// Directories that they are in.
    pub directories: u64,
    /// Transactions: one read or append, and one file made or unlinked.
    pub transactions: u64,
    /// Fewest bytes of a new file.
    pub size_min: u64,
    /// Most bytes of a file.
    pub size_max: u64,
    /// How many of ten reads and appends are reads.
    pub reads_of_ten: u64,
    /// The seed of sizes and choices.
    pub seed: u64,
}

impl Postmark {
    /// The paper's, of which nine of ten transactions read.
    pub const READ_INTENSIVE: Postmark = Postmark {
        files: 10_000,
        directories: 100,
        transactions: 400_000,
        size_min: 4 << 10,
        size_max: 40 << 10,
        reads_of_ten: 9,
        seed: 42,
    };
    /// The paper's, of which nine of ten transactions append.
    pub const WRITE_INTENSIVE: Postmark = Postmark { reads_of_ten: 1, ..Postmark::READ_INTENSIVE };
}

/// How long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostmarkRates {
    /// Making the files.
    pub making: Nanos,
    /// The transactions.
    pub transactions: Nanos,
    /// Unlinking what is left.
    pub unlinking: Nanos,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written, those of the files at the beginning included.
    pub bytes_written: u64,
    /// Bytes of the files at the beginning.
    pub bytes_made: u64,
}

/// A file that there is: its number and size.
struct Mail {
    number: u64,
    size: u64,
}

struct Run<'a, T> {
    target: &'a T,
    what: &'a Postmark,
    rng: Rng,
    mails: Vec<Mail>,
    next: u64,
    buffer: Vec<u8>,
    bytes_read: u64,
    bytes_written: u64,
}

/// Runs the workload on a target without directories of its own, and leaves it as it was.
///
/// # Errors
/// The target fails, or is too small.
pub fn postmark<T: Target>(target: &T, what: &Postmark, clock: Clock<'_>) -> Result<PostmarkRates, TargetError> {
    let buffer = vec![0x6d; what.size_max as usize];
    let rng = Rng::new(what.seed);
    let mut run = Run { target, what, rng, mails: Vec::new(), next: 0, buffer, bytes_read: 0, bytes_written: 0 };
    let begun = clock();
    (0..what.directories).try_for_each(|directory| target.make_directory(directory))?;
    (0..what.files).try_for_each(|_| run.make())?;
    let (made, bytes_made) = (clock(), run.bytes_written);
    (0..what.transactions).try_for_each(|_| run.transaction())?;
    let done = clock();
    while !run.mails.is_empty() {
        run.unlink()?;
    }
    (0..what.directories).try_for_each(|directory| target.remove_directory(directory))?;
    Ok(PostmarkRates {
        making: made - begun,
        transactions: done - made,
        unlinking: clock() - done,
        bytes_read: run.bytes_read,
        bytes_written: run.bytes_written,
        bytes_made,
    })
}

impl<T: Target> Run<'_, T> {
    fn directory(&self, number: u64) -> u64 {
        number % self.what.directories
    }

    fn size(&mut self) -> u64 {
        self.what.size_min + self.rng.below(self.what.size_max - self.what.size_min + 1)
    }

    fn make(&mut self) -> Result<(), TargetError> {
        let (number, size) = (self.next, self.size());
        self.next += 1;
        let file = self.target.create(self.directory(number), number)?;
        self.target.write(&file, 0, &self.buffer[..size as usize])?;
        self.target.close(file)?;
        self.bytes_written += size;
        self.mails.push(Mail { number, size });
        Ok(())
    }

    fn unlink(&mut self) -> Result<(), TargetError> {
        let chosen = self.rng.below(self.mails.len() as u64) as usize;
        let mail = self.mails.swap_remove(chosen);
        self.target.unlink(self.directory(mail.number), mail.number)
    }

    fn transaction(&mut self) -> Result<(), TargetError> {
        if self.mails.is_empty() {
            return self.make();
        }
        let chosen = self.rng.below(self.mails.len() as u64) as usize;
        let Mail { number, size } = self.mails[chosen];
        let file = self.target.open(self.directory(number), number)?;
        if self.rng.below(10) < self.what.reads_of_ten {
            self.bytes_read += self.target.read(&file, 0, &mut self.buffer[..size as usize])? as u64;
        } else {
            let length = self.rng.below(self.what.size_max - size + 1);
            self.target.write(&file, size, &self.buffer[..length as usize])?;
            self.mails[chosen].size += length;
            self.bytes_written += length;
        }
        self.target.close(file)?;
        if self.rng.below(2) == 0 { self.make() } else { self.unlink() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::LibraryTarget;
    use super::*;
    use crate::log::Mode;
    use crate::moment::Moment;
    use crate::persist::Recording;
    use crate::system::{Caller, FileSystem, mkfs};

    #[test]
    fn it_leaves_the_pool_as_it_was() {
        // Miri takes its time.
        let (bytes, files, transactions) = if cfg!(miri) { (1 << 20, 10, 20) } else { (16 << 20, 100, 500) };
        let pool = Recording::without_crashes(vec![0; bytes]);
        mkfs(&pool, [1; 16], &Caller::root(Moment(1))).unwrap();
        let target = LibraryTarget::new(FileSystem::mount(pool, Mode::None).unwrap());
        let small = Postmark { files, directories: files / 10, transactions, ..Postmark::READ_INTENSIVE };
        let rates = postmark(&target, &small, &|| Nanos::ZERO).unwrap();
        assert!(rates.bytes_read > transactions * 8 / 10 * 4096 && rates.bytes_written > files * 4096);
        let system = target.into_system();
        assert_eq!(system.statistics().unwrap().inodes, 1);
        assert!(crate::check::check(&system.unmount().unwrap()).unwrap().is_sound());
    }
}
