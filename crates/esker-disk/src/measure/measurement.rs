//! The measurement as a state machine: a procedure that awaits its reads is stopped at each of them until its driver
//! has the answer. There is no executor and no thread.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::desk::{Desk, MeasureProgress, ProbeRead, ReadTimes};
use super::{MeasureError, Measured};

/// What a measurement wants next.
#[derive(Debug)]
pub enum MeasureStep {
    /// This read, and its times.
    Read(ProbeRead),
    /// Nothing: it has ended.
    Ended(Box<Result<Measured, MeasureError>>),
}

type Work = Pin<Box<dyn Future<Output = Result<Measured, MeasureError>>>>;

/// A measurement under way. Ask with [`Measurement::step`], perform the read, and tell its times to
/// [`Measurement::answer`], until it has ended.
pub struct Measurement {
    desk: Rc<Desk>,
    work: Work,
}

impl Measurement {
    pub(super) fn new(desk: Rc<Desk>, work: Work) -> Self {
        Self { desk, work }
    }

    /// The next read to perform, or the result.
    pub fn step(&mut self) -> MeasureStep {
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => MeasureStep::Ended(Box::new(result)),
            Poll::Pending => MeasureStep::Read(self.desk.asked().expect("it only ever waits for a read")),
        }
    }

    /// Tells the times of the read that was asked for last.
    pub fn answer(&mut self, times: ReadTimes) {
        self.desk.tell(times);
    }

    /// How far it is.
    pub fn progress(&self) -> MeasureProgress {
        self.desk.progress()
    }
}
