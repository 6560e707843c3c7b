//! Two ways and mappings, against a model.

use super::{c_path, directory, is_placeholder, make};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;

/// A file that the kernel opens, without the library.
pub(super) fn open_by_kernel(name: &str) -> File {
    let (path, flags) = (c_path(name), libc::O_RDWR | libc::O_CLOEXEC);
    // SAFETY: the path ends in a zero byte, and the descriptor is new.
    unsafe {
        let opened = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
        assert!(opened >= 0);
        File::from_raw_fd(opened as RawFd)
    }
}

fn open() -> File {
    OpenOptions::new().read(true).write(true).open(directory().join("modelled")).unwrap()
}

/// Opens the file, which nobody has open in the kernel. The kernel tells the mount so some time after the last close,
/// on a busy machine a long one.
fn open_by_library() -> File {
    for _ in 0..5000 {
        let opened = open();
        if is_placeholder(opened.as_raw_fd()) {
            return opened;
        }
        drop(opened);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("nobody has it open in the kernel, and still it is left to it");
}

/// A mapping of the beginning of a file.
struct Mapping(*mut u8);

/// Bytes of the file in the model, and of the mapping.
const SIZE: usize = 64 << 10;

impl Mapping {
    fn new(file: &File) -> Mapping {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        Mapping(mapped.cast())
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `SIZE` bytes, and one thread of this process uses it.
        unsafe { std::slice::from_raw_parts_mut(self.0, SIZE) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { libc::munmap(self.0.cast(), SIZE) };
    }
}

#[test]
#[ignore = "run by a test of `shim`"]
fn agrees_with_a_model() {
    let mut model = vec![0_u8; SIZE];
    let mut ours = make("modelled");
    ours.set_len(SIZE as u64).unwrap();
    let (mut kernels, mut mapping): (Option<File>, Option<Mapping>) = (None, None);
    let mut state = 12_345_u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut by_library = 0;
    for step in 0..4000 {
        let (at, length) = (random(SIZE - 5000), 1 + random(5000));
        let range = at..at + length;
        let fill = vec![step as u8; length];
        by_library += usize::from(is_placeholder(ours.as_raw_fd()));
        let way = if random(2) == 0 { &ours } else { kernels.as_ref().unwrap_or(&ours) };
        match random(24) {
            0 => kernels = Some(open_by_kernel("modelled")),
            1..=3 => kernels = None,
            4 => mapping = Some(Mapping::new(way)),
            5..=7 => mapping = None,
            8..=11 => {
                // As long as it is open in the kernel, it stays there.
                drop(ours);
                ours = if kernels.is_none() && mapping.is_none() { open_by_library() } else { open() };
            }
            12..=16 => {
                way.write_all_at(&fill, at as u64).unwrap();
                model[range].copy_from_slice(&fill);
            }
            17 | 18 => {
                if let Some(mapping) = &mut mapping {
                    mapping.bytes()[range.clone()].copy_from_slice(&fill);
                    model[range].copy_from_slice(&fill);
                }
            }
            19 => {
                // What is cut off is zero when it comes back.
                if mapping.is_none() {
                    way.set_len(at as u64).unwrap();
                    way.set_len(SIZE as u64).unwrap();
                    model[at..].fill(0);
                }
            }
            20 | 21 => {
                if let Some(mapping) = &mut mapping {
                    assert!(mapping.bytes()[range.clone()] == model[range], "step {step}: mapping at {at}");
                }
            }
            _ => {
                let mut read = vec![0; length];
                way.read_exact_at(&mut read, at as u64).unwrap();
                assert!(read == model[range], "step {step}: {length} bytes at {at}");
            }
        }
    }
    assert!((400..3600).contains(&by_library), "both ways had their share: {by_library} of 4000 by the library");
}
