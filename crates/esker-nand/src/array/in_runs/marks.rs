//! Operations that others on another die wait for.

use super::op::{NEVER, NOBODY};

/// An operation that another one waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// When it ends; [`NEVER`] while that is not known.
    pub(super) end: u64,
    /// When it began, once that is known.
    pub(super) begun: u64,
    /// The die that does it.
    pub(super) die: u32,
    /// Work of that die up to its end, of all that was ever planned.
    pub(super) planned: u64,
    /// The die whose next operation waits for it, or [`NOBODY`].
    pub(super) waiter: u32,
    /// Another mark for the same operation, or [`NOBODY`]: each operation that waits has its own.
    pub(super) next: u32,
}

/// All marks, by number.
#[derive(Debug, Default)]
pub(super) struct Marks {
    marks: Vec<Mark>,
    free: Vec<u32>,
}

impl Marks {
    /// A mark for an operation of `die` that has `next` already.
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

    /// The operation behind `mark` and those linked to it is planned: so much work of its die is done when it ends.
    #[inline]
    pub(super) fn plan(&mut self, mut mark: u32, planned: u64) {
        while mark != NOBODY {
            let state = &mut self.marks[mark as usize];
            (state.planned, mark) = (planned, state.next);
        }
    }

    /// Nobody needs `mark` any more.
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
