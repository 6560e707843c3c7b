//! Waiting for the kernel.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use io_uring::{opcode, types};
use rustix::event::PollFlags;

use super::looks::Turn;
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
        let may_look = self.client_waits.may_look(begin);
        let (mut looks, mut now) = (may_look && self.looks.are_made(), begin);
        while looks && self.is_quiet() {
            std::hint::spin_loop();
            now = self.clock.now();
            looks = now < begin + SHORT;
        }
        // If there is news, that call brings it.
        self.sleep(if looks { Some(Duration::ZERO) } else { limit });
        let (end, looked) = (self.clock.now(), now - begin);
        let time = self.client_waits.waited(begin, end, looked);
        let operations = std::mem::take(&mut self.begun);
        if may_look && end - begin <= SHORT {
            self.looks.note(Turn { time, looked, operations });
        }
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
