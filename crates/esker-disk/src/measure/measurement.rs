//! The measurement as a state machine: the procedure awaits its reads, and stops at each of them until its driver has
//! the answer. There is no executor and no thread.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::desk::{Desk, MeasureProgress, ProbeRead, ReadTimes};
use super::{MeasureError, Measured};

/// What a measurement needs next.
#[derive(Debug)]
pub enum MeasureStep {
    /// The times of this read.
    Read(ProbeRead),
    /// Nothing: the measurement has ended.
    Ended(Box<Result<Measured, MeasureError>>),
}

type Work = Pin<Box<dyn Future<Output = Result<Measured, MeasureError>>>>;

/// A measurement in progress. Ask it with [`Measurement::step`], perform the read, and pass its times to
/// [`Measurement::answer`], until the measurement has ended.
pub struct Measurement {
    desk: Rc<Desk>,
    work: Work,
}

impl Measurement {
    pub(super) fn new(desk: Rc<Desk>, work: Work) -> Self {
        Self { desk, work }
    }

    /// Returns the next read to perform, or the result.
    pub fn step(&mut self) -> MeasureStep {
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => MeasureStep::Ended(Box::new(result)),
            Poll::Pending => MeasureStep::Read(self.desk.asked().expect("it only ever waits for a read")),
        }
    }

    /// Passes on the times of the last read that was asked for.
    pub fn answer(&mut self, times: ReadTimes) {
        self.desk.tell(times);
    }

    /// Returns the progress of the measurement.
    pub fn progress(&self) -> MeasureProgress {
        self.desk.progress()
    }
}
