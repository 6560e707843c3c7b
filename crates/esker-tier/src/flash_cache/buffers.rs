//! The driver's buffers that hold lines on their way between devices. The lines of one request share a buffer, so that
//! adjacent lines can be read in one request.

/// The buffers by number, each with the number of its users.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    users: Vec<u32>,
    free: Vec<u32>,
}

impl Buffers {
    /// Takes a free buffer, for one user.
    pub(super) fn take(&mut self) -> u32 {
        let buffer = self.free.pop().unwrap_or_else(|| {
            self.users.push(0);
            self.users.len() as u32 - 1
        });
        self.users[buffer as usize] = 1;
        buffer
    }

    /// Adds a user.
    pub(super) fn share(&mut self, buffer: u32) {
        self.users[buffer as usize] += 1;
    }

    /// Removes a user. After the last one the buffer is free.
    pub(super) fn release(&mut self, buffer: u32) {
        self.users[buffer as usize] -= 1;
        if self.users[buffer as usize] == 0 {
            self.free.push(buffer);
        }
    }

    /// Returns true if all buffers are free.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.users.len()
    }
}
