//! Waiting for the kernel.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use esker_core::Nanos;
use io_uring::{opcode, types};
use rustix::event::PollFlags;
use rustix::time::{ClockId, clock_gettime};

use super::short_waits::SHORT;
use super::{SIGNAL, State};
use crate::clock::Clock;

impl State {
    pub(super) fn wait(&mut self, limit: Option<Duration>) {
        self.reap();
        if self.untaken > 0 || self.watches.take_news() || self.signal.begin_wait() {
            return self.send();
        }
        self.send();
        self.watch_signal();
        let has_time = limit.is_none_or(|limit| limit > Duration::from_nanos(SHORT.0));
        if has_time && self.transfers.is_empty() && !self.watches.is_empty() {
            self.wait_for_clients(limit);
        } else {
            self.sleep(limit);
        }
        self.signal.end_wait();
        self.reap();
        // The caller looks at everything now.
        self.watches.take_news();
    }

    /// Waits while no operation is under way.
    fn wait_for_clients(&mut self, limit: Option<Duration>) {
        let begin = self.clock.now();
        let may_look = self.client_waits.are_expected();
        let mut looks = may_look && self.looks.are_made();
        while looks && self.is_quiet() {
            std::hint::spin_loop();
            looks = self.clock.now() < begin + SHORT;
        }
        // If there is news, that call brings it.
        self.sleep(if looks { Some(Duration::ZERO) } else { limit });
        let end = self.clock.now();
        let time = end - std::mem::replace(&mut self.last_wait_end, end);
        let operations = std::mem::take(&mut self.begun);
        let is_short = self.client_waits.waited(end - begin);
        self.looks.note(operations, (is_short && may_look).then_some(time), processor_time);
    }

    /// Whether the kernel has no news, nor any that a call would bring.
    fn is_quiet(&mut self) -> bool {
        self.kernel.completion().is_empty() && !self.kernel.submission().taskrun()
    }

    /// Sleeps until the kernel has a result, unless it has one already.
    fn sleep(&mut self, limit: Option<Duration>) {
        if self.kernel.completion().is_empty() {
            let limit = limit.map(types::Timespec::from);
            let args = types::SubmitArgs::new();
            let args = limit.as_ref().map_or(args, |limit| args.timespec(limit));
            // A wait that is interrupted or takes too long ends.
            let _ = self.kernel.submitter().submit_with_args(1, &args);
        }
    }

    /// Has the kernel report when the signal is given.
    fn watch_signal(&mut self) {
        if !self.is_watched {
            let signal = types::Fd(self.signal.as_fd().as_raw_fd());
            let watch = opcode::PollAdd::new(signal, u32::from(PollFlags::IN.bits())).multi(true).build();
            self.is_watched = self.push(&watch.user_data(SIGNAL));
        }
    }
}

/// The processor time that the thread has used.
fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64) + Nanos(time.tv_nsec as u64)
}
