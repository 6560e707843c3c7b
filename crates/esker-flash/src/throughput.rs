//! Measures the figures that data sheets state: throughput at a constant queue depth.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Ratio, ReplaySettings, Request,
    Rng, Verdict, replay,
};

use crate::{Ssd, SsdError, SsdSettings, Work};

impl Work {
    /// The workloads for which data sheets state throughput.
    pub const ALL: [Self; 4] = [Self::RandomRead, Self::RandomWrite, Self::SequentialRead, Self::SequentialWrite];

    /// The queue depth at which data sheets measure the workload, or an assumed one if they do not say.
    pub fn depth(self) -> u32 {
        match self {
            Self::RandomRead | Self::RandomWrite => 256,
            Self::SequentialRead | Self::SequentialWrite => 32,
        }
    }

    fn is_random(self) -> bool {
        matches!(self, Self::RandomRead | Self::RandomWrite)
    }

    /// Measures a drive with `settings` at queue depth `depth`, in [`Work::unit`]. Reads and sequential writes are
    /// measured on a drive that was written once in order, random writes in the steady state of a full drive, and all
    /// writes after the buffer has been filled twice.
    pub fn measure(self, settings: &SsdSettings, depth: u32) -> Result<f64, SsdError> {
        let mut ssd = Ssd::new("flash", settings, 1)?;
        let condition = match self {
            Self::RandomWrite => Precondition::Steady { utilisation: Ratio::ONE, seed: 1 },
            _ => Precondition::Filled { utilisation: Ratio::ONE },
        };
        ssd.control(Nanos::ZERO, Control::Precondition(condition)).expect("drives can be preconditioned");
        let size = if self.is_random() { Bytes::kib(4) } else { Bytes::kib(128) };
        let buffered = settings.write_buffer.map_or(0, |buffer| buffer.size.0 / size.0);
        let (warm, counted) = match self {
            Self::RandomRead => (2_000, 20_000),
            Self::RandomWrite => (2 * buffered + 2_000, 30_000),
            Self::SequentialRead | Self::SequentialWrite => (2 * buffered + 100, 4_000),
        };
        let places = ssd.capacity().0 / size.0;
        let mut rng = Rng::new(5);
        let requests = (0..warm + counted).map(|index| {
            let place = if self.is_random() { rng.below(places) } else { index % places };
            let start = Lba(place * (size.0 / 512));
            let request = match self {
                Self::RandomRead | Self::SequentialRead => Request::read(start, size),
                Self::RandomWrite | Self::SequentialWrite => Request::write(start, size),
            };
            Arrival { at: Nanos::ZERO, request }
        });
        let mut clock = Clock { warm, ended: 0, from: Nanos::ZERO, to: Nanos::ZERO };
        let settings = ReplaySettings::closed(depth as usize);
        replay(&mut ssd, requests, &settings, &mut clock).expect("every request lies within the drive");
        let rate = counted as f64 / ((clock.to - clock.from).0 as f64 / 1e9);
        Ok(if self.is_random() { rate } else { rate * size.0 as f64 / 1e6 })
    }
}

/// Counts requests that ended, and records when number `warm` and the last of them ended.
struct Clock {
    warm: u64,
    ended: u64,
    from: Nanos,
    to: Nanos,
}

impl<D: ?Sized> Observer<D> for Clock {
    fn completed(&mut self, _: Nanos, _: &Request, completion: &Completion) -> Verdict {
        debug_assert!(completion.result.is_ok());
        self.ended += 1;
        self.to = completion.at;
        if self.ended == self.warm {
            self.from = completion.at;
        }
        Verdict::Continue
    }
}
