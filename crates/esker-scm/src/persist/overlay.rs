//! A pool that is looked at without being changed: stores go to memory.

use super::{Persist, PersistError};
use crate::layout::PAGE;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Stores in memory over another pool.
#[derive(Debug)]
pub struct Overlay<'a, P> {
    below: &'a P,
    /// Pages that were stored to.
    pages: Mutex<BTreeMap<u64, Box<[u8; PAGE as usize]>>>,
}

impl<'a, P: Persist> Overlay<'a, P> {
    /// An overlay without stores.
    pub fn new(below: &'a P) -> Overlay<'a, P> {
        Overlay { below, pages: Mutex::default() }
    }
}

/// The pieces of `length` bytes at `at` within pages: page, first byte in it, bytes.
fn pieces(at: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = at + done;
        let piece = (length - done).min(PAGE - place % PAGE);
        done += piece;
        (piece > 0).then_some((place / PAGE, (place % PAGE) as usize, piece as usize))
    })
}

impl<P: Persist> Persist for Overlay<'_, P> {
    fn len(&self) -> u64 {
        self.below.len()
    }

    fn read(&self, at: u64, into: &mut [u8]) {
        self.below.read(at, into);
        let pages = self.pages.lock().expect("no panic while it is locked");
        let mut done = 0;
        for (page, first, length) in pieces(at, into.len() as u64) {
            if let Some(stored) = pages.get(&page) {
                into[done..done + length].copy_from_slice(&stored[first..first + length]);
            }
            done += length;
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        let mut pages = self.pages.lock().expect("no panic while it is locked");
        let mut done = 0;
        for (page, first, length) in pieces(at, bytes.len() as u64) {
            let stored = pages.entry(page).or_insert_with(|| {
                let mut copy = Box::new([0; PAGE as usize]);
                self.below.read(page * PAGE, &mut copy[..]);
                copy
            });
            stored[first..first + length].copy_from_slice(&bytes[done..done + length]);
            done += length;
        }
    }

    fn write_streaming(&self, at: u64, bytes: &[u8]) {
        self.write(at, bytes);
    }

    fn zero_streaming(&self, at: u64, length: u64) {
        pieces(at, length).for_each(|(page, first, length)| self.write(page * PAGE + first as u64, &vec![0; length]));
    }

    fn write_back(&self, _at: u64, _length: u64) {}

    fn fence(&self) -> Result<(), PersistError> {
        Ok(())
    }
}
