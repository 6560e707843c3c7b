//! Buffers of the driver in which lines are on their way between the devices. Several lines of one request share one,
//! so that neighbours are read as one.

/// Numbers of buffers, each with how many parts of requests use it.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    users: Vec<u32>,
    free: Vec<u32>,
}

impl Buffers {
    /// A buffer with one user.
    pub(super) fn take(&mut self) -> u32 {
        let buffer = self.free.pop().unwrap_or_else(|| {
            self.users.push(0);
            self.users.len() as u32 - 1
        });
        self.users[buffer as usize] = 1;
        buffer
    }

    /// One more user.
    pub(super) fn share(&mut self, buffer: u32) {
        self.users[buffer as usize] += 1;
    }

    /// One user less; after the last one the buffer is free.
    pub(super) fn release(&mut self, buffer: u32) {
        self.users[buffer as usize] -= 1;
        if self.users[buffer as usize] == 0 {
            self.free.push(buffer);
        }
    }

    /// Whether all are free.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.users.len()
    }
}
