//! Operations that operations on other dies wait for.

use super::op::{NEVER, NOBODY};

/// An operation that another one waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// When it ends; [`NEVER`] while unknown.
    pub(super) end: u64,
    /// When it began, once known.
    pub(super) begun: u64,
    /// The die that performs it.
    pub(super) die: u32,
    /// Work of that die up to the end of the operation, as in [`super::die::Die`]'s `planned`.
    pub(super) planned: u64,
    /// The die whose next operation waits for it, or [`NOBODY`].
    pub(super) waiter: u32,
    /// The next mark of the same operation, or [`NOBODY`]: each operation that waits has its own mark.
    pub(super) next: u32,
}

/// All marks, by number.
#[derive(Debug, Default)]
pub(super) struct Marks {
    marks: Vec<Mark>,
    free: Vec<u32>,
}

impl Marks {
    /// Adds a mark for an operation of `die`, linked to `next`.
    #[inline]
    pub(super) fn add(&mut self, die: u32, next: u32) -> u32 {
        let mark = Mark { end: NEVER, begun: NEVER, die, planned: 0, waiter: NOBODY, next };
        match self.free.pop() {
            Some(index) => {
                self.marks[index as usize] = mark;
                index
            }
            None => {
                self.marks.push(mark);
                self.marks.len() as u32 - 1
            }
        }
    }

    /// Records that the operation of `mark` and of the marks linked to it ends when its die has done `planned` work.
    #[inline]
    pub(super) fn plan(&mut self, mut mark: u32, planned: u64) {
        while mark != NOBODY {
            let state = &mut self.marks[mark as usize];
            (state.planned, mark) = (planned, state.next);
        }
    }

    /// Removes `mark`, which is no longer needed.
    #[inline]
    pub(super) fn free(&mut self, mark: u32) {
        self.free.push(mark);
    }
}

impl std::ops::Index<u32> for Marks {
    type Output = Mark;
    #[inline(always)]
    fn index(&self, mark: u32) -> &Mark {
        &self.marks[mark as usize]
    }
}

impl std::ops::IndexMut<u32> for Marks {
    #[inline(always)]
    fn index_mut(&mut self, mark: u32) -> &mut Mark {
        &mut self.marks[mark as usize]
    }
}
