//! The memory that a client shares with the owner: some slots, each for a call at a time.
//!
//! A slot is claimed by a thread of the client, filled and posted; the owner takes it, answers, and finishes it; the
//! thread reads the answer and frees it. Who waits looks at the slot for a moment and sleeps then; the other side wakes
//! it.

use crate::memory::SharedMemory;
use crate::message::MESSAGE_MAX;
use crate::waiting::{look, sleep, wake};
use rustix::io::Errno;
use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Calls that a client can make at the same time.
pub const SLOTS: usize = 8;
/// Bytes that can go with a call, or come with its answer.
pub const WINDOW: usize = 256 << 10;

// The header: a page.
const DOORBELL: usize = 0;
const OWNER_SLEEPS: usize = 64;
const IS_CLOSED: usize = 128;
const SLOTS_AT: usize = 4096;

// A slot: state, a page and more for the message, and the window.
const STATE: usize = 0;
const CLIENT_SLEEPS: usize = 4;
const MESSAGE_LENGTH: usize = 8;
const DATA_LENGTH: usize = 12;
const MESSAGE: usize = 64;
const DATA: usize = 12 << 10;
const SLOT: usize = DATA + WINDOW;
const _: () = assert!(MESSAGE + MESSAGE_MAX <= DATA, "a message has its place");

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const POSTED: u32 = 2;
const TAKEN: u32 = 3;
const FINISHED: u32 = 4;

/// How long somebody sleeps before looking whether the other side still lives, in milliseconds.
const SLEEP: u32 = 200;

/// The shared memory of one client.
#[derive(Debug)]
pub struct Region {
    memory: SharedMemory,
}

/// A slot that a thread of the client has claimed. It is free again when this is dropped, unless the owner may still
/// answer it.
#[derive(Debug)]
pub struct Slot<'a> {
    region: &'a Region,
    index: usize,
    /// Whether nobody waits any more for the answer to what was posted here.
    is_given_up: Cell<bool>,
}

impl Region {
    /// Makes the memory for a client.
    ///
    /// # Errors
    /// The system refuses.
    pub fn create() -> Result<Region, Errno> {
        Ok(Region { memory: SharedMemory::create("scmfs calls", (SLOTS_AT + SLOTS * SLOT) as u64)? })
    }

    /// The client's side of it.
    ///
    /// # Errors
    /// It is not such memory.
    pub fn open(file: BorrowedFd<'_>) -> Result<Region, Errno> {
        let memory = SharedMemory::open(file)?;
        if memory.length() == (SLOTS_AT + SLOTS * SLOT) as u64 { Ok(Region { memory }) } else { Err(Errno::INVAL) }
    }

    /// The file behind it, for the client.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    fn word(&self, index: usize, at: usize) -> &AtomicU32 {
        self.memory.word(SLOTS_AT + index * SLOT + at)
    }

    /// Claims a slot, of which `hint` is tried first; none if the connection is at its end.
    pub fn claim(&self, hint: usize) -> Option<Slot<'_>> {
        while !self.is_closed() {
            for step in 0..SLOTS {
                let index = (hint + step) % SLOTS;
                let state = self.word(index, STATE);
                let claimed = state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed);
                if claimed.is_ok() {
                    return Some(Slot { region: self, index, is_given_up: Cell::new(false) });
                }
            }
            rustix::thread::sched_yield();
        }
        None
    }

    /// Whether one side has ended the connection.
    pub fn is_closed(&self) -> bool {
        self.memory.word(IS_CLOSED).load(Ordering::Relaxed) != 0
    }

    /// Ends the connection, and wakes who waits.
    pub fn close(&self) {
        self.memory.word(IS_CLOSED).store(1, Ordering::SeqCst);
        self.ring();
        for index in 0..SLOTS {
            wake(self.word(index, STATE));
        }
    }

    fn ring(&self) {
        let doorbell = self.memory.word(DOORBELL);
        doorbell.fetch_add(1, Ordering::SeqCst);
        if self.memory.word(OWNER_SLEEPS).load(Ordering::SeqCst) != 0 {
            wake(doorbell);
        }
    }

    /// The owner waits for a posted slot, and takes it: its number. None if nothing came for a while, or if the
    /// connection is at its end.
    pub fn take(&self) -> Option<usize> {
        let mut taken = None;
        if look(|| self.is_closed() || self.find(&mut taken)) {
            return taken;
        }
        let doorbell = self.memory.word(DOORBELL);
        let seen = doorbell.load(Ordering::SeqCst);
        self.memory.word(OWNER_SLEEPS).store(1, Ordering::SeqCst);
        if !self.find(&mut taken) && !self.is_closed() {
            sleep(doorbell, seen, SLEEP);
            self.find(&mut taken);
        }
        self.memory.word(OWNER_SLEEPS).store(0, Ordering::SeqCst);
        taken
    }

    fn find(&self, taken: &mut Option<usize>) -> bool {
        *taken = (0..SLOTS).find(|&index| {
            let state = self.word(index, STATE);
            state.load(Ordering::Relaxed) == POSTED
                && state.compare_exchange(POSTED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        taken.is_some()
    }

    /// The owner copies the message of a slot that it has taken; the bytes of it, and how many came with it.
    pub fn message<'m>(&self, index: usize, into: &'m mut [u8]) -> (&'m [u8], usize) {
        let length = (self.word(index, MESSAGE_LENGTH).load(Ordering::Relaxed) as usize).min(into.len());
        self.memory.read(SLOTS_AT + index * SLOT + MESSAGE, &mut into[..length]);
        let data = (self.word(index, DATA_LENGTH).load(Ordering::Relaxed) as usize).min(WINDOW);
        (&into[..length], data)
    }

    /// Copies bytes out of the window of a slot.
    pub fn read_window(&self, index: usize, into: &mut [u8]) {
        self.memory.read(SLOTS_AT + index * SLOT + DATA, into);
    }

    /// Copies bytes into the window of a slot.
    pub fn write_window(&self, index: usize, bytes: &[u8]) {
        self.memory.write(SLOTS_AT + index * SLOT + DATA, bytes);
    }

    fn put_message(&self, index: usize, message: &[u8], data: usize) {
        self.memory.write(SLOTS_AT + index * SLOT + MESSAGE, message);
        self.word(index, MESSAGE_LENGTH).store(message.len() as u32, Ordering::Relaxed);
        self.word(index, DATA_LENGTH).store(data as u32, Ordering::Relaxed);
    }

    /// The owner answers a slot that it has taken; `data` bytes of the answer are in the window.
    pub fn finish(&self, index: usize, message: &[u8], data: usize) {
        self.put_message(index, message, data);
        let state = self.word(index, STATE);
        state.store(FINISHED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.word(index, CLIENT_SLEEPS).load(Ordering::SeqCst) != 0 {
            wake(state);
        }
    }
}

impl Slot<'_> {
    /// Copies bytes to go with the call.
    pub fn write(&self, bytes: &[u8]) {
        self.region.write_window(self.index, bytes);
    }

    /// Copies bytes that came with the answer.
    pub fn read(&self, into: &mut [u8]) {
        self.region.read_window(self.index, into);
    }

    /// Posts a call, and waits for the answer: how many bytes came with it. `lives` is asked from time to time
    /// whether the owner is still there. None if it is not: that ends the connection. The slot is nobody's then, as the
    /// owner may yet answer, and the next call would take that for its own answer.
    pub fn call(
        &self,
        message: &[u8],
        data: usize,
        answer: &mut [u8],
        lives: impl Fn() -> bool,
    ) -> Option<(usize, usize)> {
        let region = self.region;
        region.put_message(self.index, message, data);
        let state = region.word(self.index, STATE);
        state.store(POSTED, Ordering::SeqCst);
        region.ring();
        let is_finished = || state.load(Ordering::Acquire) == FINISHED;
        while !look(is_finished) {
            let sleeps = region.word(self.index, CLIENT_SLEEPS);
            sleeps.store(1, Ordering::SeqCst);
            let seen = state.load(Ordering::SeqCst);
            if seen != FINISHED {
                sleep(state, seen, SLEEP);
            }
            sleeps.store(0, Ordering::SeqCst);
            // It may have answered, and gone then.
            if !is_finished() && (region.is_closed() || !lives()) && !is_finished() {
                self.is_given_up.set(true);
                region.close();
                return None;
            }
        }
        let (message, data) = region.message(self.index, answer);
        Some((message.len(), data))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        if !self.is_given_up.get() {
            self.region.word(self.index, STATE).store(FREE, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states of all slots.
    fn states(region: &Region) -> Vec<u32> {
        (0..SLOTS).map(|index| region.word(index, STATE).load(Ordering::Acquire)).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_slot_that_was_given_up_is_nobodys() {
        let mut answer = [0; 8];
        for is_taken in [true, false] {
            let region = &Region::create().unwrap();
            let slot = region.claim(3).unwrap();
            let taken = Cell::new(None);
            // As a poll that a signal interrupts would say once.
            let lives = || {
                taken.set(if is_taken { region.take() } else { None });
                false
            };
            let called = slot.call(b"first", 0, &mut answer, lives);
            let taken = taken.get();
            assert_eq!((called, taken), (None, is_taken.then_some(3)));
            drop(slot);
            assert_ne!(states(region)[3], FREE, "the owner may answer");
            assert!(region.is_closed() && region.claim(3).is_none());
            taken.into_iter().for_each(|slot| region.finish(slot, b"answer to the first", 0));
            assert_ne!(states(region)[3], FREE);
            assert!(region.claim(3).is_none());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn who_answers_and_goes_has_answered() {
        let region = Region::create().unwrap();
        let slot = region.claim(0).unwrap();
        let mut answer = [0; 8];
        let lives = || {
            let taken = region.take().expect("the call");
            region.finish(taken, b"done", 0);
            region.close();
            false
        };
        assert_eq!(slot.call(b"call", 0, &mut answer, lives), Some((4, 0)));
        assert_eq!(&answer[..4], b"done");
        drop(slot);
        assert_eq!(states(&region), [FREE; SLOTS]);
    }
}
