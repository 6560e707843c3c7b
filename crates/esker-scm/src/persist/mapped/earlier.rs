//! What earlier uses of a pool on an ordinary device have left in the system's memory.

use rustix::fs::Advice;
use rustix::io::Errno;
use std::fs::File;

/// Has a file written to its device, whoever stored into it, and has what the system keeps of it forgotten. It must not
/// have been read yet, as what is mapped stays.
///
/// # Errors
/// Something could not be written.
pub(super) fn take_over(file: &File) -> Result<(), Errno> {
    let forget = || {
        // Advice: where it is not taken, all is as it was.
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    };
    write_and_forget(|| rustix::fs::fdatasync(file), forget)
}

/// Pages that could not be written once are taken for written, and may differ from what the device has: they are
/// forgotten, so that all who read see what is durable. Only after the rest was written, or it would be lost.
fn write_and_forget(mut write: impl FnMut() -> Result<(), Errno>, forget: impl FnOnce()) -> Result<(), Errno> {
    loop {
        match write() {
            Err(Errno::INTR) => {}
            written => return written.map(|()| forget()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_forgotten_after_all_were_written_and_not_after_a_failure() {
        for (answers, expected) in [
            (vec![Ok(())], Ok(true)),
            (vec![Err(Errno::INTR), Err(Errno::INTR), Ok(())], Ok(true)),
            (vec![Err(Errno::IO)], Err(Errno::IO)),
            (vec![Err(Errno::INTR), Err(Errno::NOSPC)], Err(Errno::NOSPC)),
        ] {
            let (mut left, mut is_forgotten) = (answers.into_iter(), false);
            let written = write_and_forget(|| left.next().expect("no more is asked for"), || is_forgotten = true);
            assert_eq!(left.next(), None);
            assert_eq!(written.map(|()| is_forgotten), expected);
            assert!(written.is_ok() || !is_forgotten);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri makes no such calls")]
    fn what_was_stored_stays() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[7; 10_000]).unwrap();
        take_over(&file).unwrap();
        let mut bytes = [0; 10_000];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
        assert_eq!(bytes, [7; 10_000]);
    }
}
