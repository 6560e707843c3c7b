//! Emulated devices by a clock that the test sets.

use std::cell::Cell;
use std::rc::Rc;

use esker_core::{Lba, Ratio, Rng};
use esker_sim::{ConstantSettings, DeviceDescription, RunEvent, ServiceTimes, System};

use super::*;
use crate::contents::MemoryContents;
use crate::failing::Failing;

#[derive(Clone, Default)]
struct SetClock(Rc<Cell<Nanos>>);

impl Clock for SetClock {
    fn now(&self) -> Nanos {
        self.0.get()
    }
}

fn settings(queue_depth: u32, service: ServiceTimes) -> ConstantSettings {
    ConstantSettings {
        service_time: Nanos::from_millis(1),
        service,
        servers: 1,
        capacity: Bytes::kib(64),
        queue_depth: Some(queue_depth),
    }
}

/// A device of one request a millisecond, with a volatile write cache.
fn emulated(queue_depth: u32, service: ServiceTimes, seed: u64) -> (EmulatedDevice<SetClock>, SetClock) {
    let system = System::single("disk", DeviceDescription::new(settings(queue_depth, service))).unwrap();
    let events = [RunEvent::slow(Nanos::ZERO, "disk", Ratio::ONE)];
    let device = system.assemble_for(seed, &events).unwrap().device;
    let clock = SetClock::default();
    let settings = EmulationSettings { contents: Box::new(MemoryContents::default()), has_volatile_cache: true, seed };
    (EmulatedDevice::new("disk", device, settings, clock.clone()), clock)
}

fn tag(number: u32) -> Tag {
    Tag::new(number, 0)
}

fn write(fua: bool) -> RequestKind {
    RequestKind::Write { fua }
}

fn request(kind: RequestKind, sector: u64, sectors: u64) -> Request {
    Request::new(kind, Lba(sector), Bytes(sectors * 512))
}

fn bytes(content: u8, sectors: u64) -> Buffer {
    Buffer::from(vec![content; sectors as usize * 512])
}

/// Takes what has ended at the time of the clock: tags, times in microseconds, results, first bytes.
fn ended(device: &mut EmulatedDevice<SetClock>) -> Vec<(u32, u64, bool, Option<u8>)> {
    device.step();
    std::iter::from_fn(|| device.next_reply())
        .map(|reply| {
            let first = reply.data.to_vec().first().copied();
            (reply.tag.slot(), reply.at.0 / 1000, reply.result.is_ok(), first)
        })
        .collect()
}

#[test]
fn requests_end_when_those_of_the_simulated_device_do() {
    let (mut device, clock) = emulated(2, ServiceTimes::Fixed, 1);
    for number in 0..3 {
        device.submit(tag(number), request(write(false), u64::from(number), 1), bytes(7, 1));
    }
    device.submit(tag(3), request(RequestKind::Read, 2, 1), Buffer::default());
    assert_eq!(device.next_event(), Nanos::from_millis(1));
    clock.0.set(Nanos(999_999));
    assert_eq!(ended(&mut device), []);
    // Two ends late, and yet in their order and at their times; requests that waited began in time.
    clock.0.set(Nanos::from_micros(2_500));
    assert_eq!(ended(&mut device), [(0, 1000, true, Some(7)), (1, 2000, true, Some(7))]);
    clock.0.set(Nanos::from_micros(4_100));
    assert_eq!(ended(&mut device), [(2, 3000, true, Some(7)), (3, 4000, true, Some(7))]);
    let status = device.status();
    assert_eq!((status.response_times.writes.count, status.response_times.reads.max_us), (3, 4000.0));
    assert_eq!(status.punctuality.lateness.max_us, 1500.0);
    // 1.5 ms from the first end that was due, and 1.1 ms from the third.
    assert!((status.punctuality.overdue_share - 2.6 / 4.1).abs() < 1e-9, "{status:?}");
    assert_eq!(device.next_event(), Nanos::NEVER);
}

#[test]
fn a_request_reaches_an_idle_device_when_it_is_submitted() {
    let (mut device, clock) = emulated(8, ServiceTimes::Fixed, 1);
    clock.0.set(Nanos::from_micros(12_345));
    device.submit(tag(0), request(RequestKind::Flush, 0, 0), Buffer::default());
    assert_eq!(device.next_event(), Nanos::from_micros(13_345));
    // What has ended is due at once.
    clock.0.set(Nanos::from_micros(13_345));
    device.step();
    assert!(device.next_event() <= clock.now());
    assert_eq!(ended(&mut device), [(0, 13_345, true, None)]);
}

#[test]
fn requests_that_overlap_take_effect_in_the_order_of_their_ends() {
    let (mut device, clock) = emulated(8, ServiceTimes::Fixed, 1);
    device.submit(tag(0), request(write(false), 0, 2), bytes(1, 2));
    device.submit(tag(1), request(RequestKind::Read, 0, 1), Buffer::default());
    device.submit(tag(2), request(write(false), 0, 1), bytes(2, 1));
    device.submit(tag(3), request(RequestKind::Read, 0, 1), Buffer::default());
    device.submit(tag(4), request(RequestKind::Trim, 0, 1), Buffer::default());
    device.submit(tag(5), request(RequestKind::Read, 0, 1), Buffer::default());
    clock.0.set(Nanos::from_millis(9));
    let read: Vec<_> = ended(&mut device).iter().map(|reply| reply.3).collect();
    assert_eq!([read[1], read[3], read[5]], [Some(1), Some(2), Some(0)]);
}

#[test]
fn a_slow_device_takes_longer_until_its_speed_is_restored() {
    let (mut device, clock) = emulated(8, ServiceTimes::Fixed, 1);
    device.submit(tag(0), request(RequestKind::Read, 0, 1), Buffer::default());
    clock.0.set(Nanos::from_micros(500));
    device.slow("10".parse().unwrap()).unwrap();
    assert_eq!((device.next_event(), device.status().slow), (Nanos::from_micros(5_500), 10.0));
    clock.0.set(Nanos::from_micros(4_500));
    device.slow(Ratio::ONE).unwrap();
    assert_eq!(device.next_event(), Nanos::from_micros(4_600));
    assert!(device.slow(Ratio::ZERO).unwrap_err().to_string().contains("no time"));
}

#[test]
fn requests_fail_until_it_is_repaired() {
    let (mut device, clock) = emulated(8, ServiceTimes::Fixed, 1);
    let all = |device: &mut EmulatedDevice<SetClock>| {
        device.submit(tag(1), request(RequestKind::Read, 0, 1), Buffer::default());
        device.submit(tag(2), request(write(true), 0, 1), bytes(9, 1));
        device.submit(tag(3), request(RequestKind::Flush, 0, 0), Buffer::default());
        clock.0.set(clock.now() + Nanos::from_millis(9));
        let mut all = ended(device);
        all.sort_unstable();
        all.iter().map(|reply| reply.2).collect::<Vec<_>>()
    };
    device.submit(tag(0), request(write(false), 0, 1), bytes(5, 1));
    device.fail(Failing::Writes);
    assert_eq!(all(&mut device), [false, true, false, false]);
    device.fail(Failing::All);
    assert_eq!(all(&mut device), [false; 3]);
    device.fail(Failing::None);
    device.submit(tag(0), request(RequestKind::Read, 0, 1), Buffer::default());
    assert_eq!(all(&mut device), [true; 4]);
    assert_eq!(device.status().response_times.failed, 6);
}

#[test]
fn without_power_nothing_is_answered_and_it_comes_back() {
    let (mut device, clock) = emulated(2, ServiceTimes::Fixed, 1);
    for number in 0..4 {
        device.submit(tag(number), request(RequestKind::Read, 0, 1), Buffer::default());
    }
    clock.0.set(Nanos::from_micros(1_500));
    device.cut_power(Some(Nanos::from_millis(10))).unwrap();
    assert!(!device.has_power() && device.status().power_cuts == 1);
    // The first one had ended in time, but nobody was told.
    assert_eq!(ended(&mut device), [0, 1, 2, 3].map(|number| (number, 1500, false, None)));
    clock.0.set(Nanos::from_millis(9));
    assert_eq!((ended(&mut device), device.next_event()), (vec![], Nanos::from_micros(11_500)));
    device.submit(tag(7), request(RequestKind::Read, 0, 1), Buffer::default());
    assert_eq!(ended(&mut device), [(7, 9000, false, None)]);
    clock.0.set(Nanos::from_micros(11_500));
    device.step();
    assert!(device.has_power());
    device.cut_power(None).unwrap();
    assert_eq!(device.next_event(), Nanos::NEVER);
    device.power_on();
    // Somebody has to see that it was off.
    assert!(!device.has_power() && device.next_event() <= clock.now());
    device.step();
    assert!(device.has_power());
    device.cut_power(None).unwrap();
    ended(&mut device);
    device.power_on();
    assert!(device.has_power());
    device.submit(tag(0), request(RequestKind::Read, 0, 1), Buffer::default());
    clock.0.set(Nanos::from_micros(12_500));
    assert_eq!(ended(&mut device), [(0, 12_500, true, Some(0))]);
}

/// Random requests, many at a time, and losses of power, against what each sector may hold.
mod random {
    use super::*;

    const SECTORS: usize = 16;

    /// The writes of a sector, by their numbers, as whoever uses the device knows of them.
    #[derive(Clone, Debug, Default)]
    struct Sector {
        /// All that may be read, each with whether it may come back after a loss of power as well. At most one write of
        /// a sector is under way at a time.
        answered: u8,
        /// The oldest write that may come back, and all after it.
        durable: u8,
        under_way: Option<u8>,
    }

    struct User {
        rng: Rng,
        sectors: Vec<Sector>,
        /// Kinds of the requests under way, their sectors, and for flushes what they make durable.
        under_way: TagSlab<(Request, Vec<u8>)>,
        next: u8,
        cuts: u32,
    }

    impl User {
        fn submit(&mut self, device: &mut EmulatedDevice<SetClock>) {
            let sector = self.rng.below(SECTORS as u64) as usize;
            let length = (1 + self.rng.below(4) as usize).min(SECTORS - sector);
            let range = sector..sector + length;
            let (kind, data) = match self.rng.below(8) {
                0..4 if self.sectors[range.clone()].iter().all(|sector| sector.under_way.is_none()) => {
                    self.next += 1;
                    self.sectors[range].iter_mut().for_each(|sector| sector.under_way = Some(self.next));
                    (write(self.rng.chance(1, 4)), bytes(self.next, length as u64))
                }
                4 => (RequestKind::Flush, Buffer::default()),
                _ => (RequestKind::Read, Buffer::default()),
            };
            let request = match kind {
                RequestKind::Flush => request(kind, 0, 0),
                kind => request(kind, sector as u64, length as u64),
            };
            let known = self.sectors.iter().map(|sector| sector.answered).collect();
            device.submit(self.under_way.insert((request, known)), request, data);
        }

        fn take(&mut self, reply: &Reply) {
            assert_eq!(reply.result, Ok(()));
            let (request, known) = self.under_way.remove(reply.tag);
            let first = request.start.0 as usize;
            let range = first..first + (request.length.0 / 512) as usize;
            match request.kind {
                RequestKind::Flush => {
                    for (sector, known) in self.sectors.iter_mut().zip(known) {
                        sector.durable = sector.durable.max(known);
                    }
                }
                RequestKind::Read => {
                    let read = reply.data.to_vec();
                    for (sector, bytes) in self.sectors[range].iter().zip(read.chunks(512)) {
                        let found = whole(bytes);
                        assert!(found == sector.answered || Some(found) == sector.under_way, "{found}: {sector:?}");
                    }
                }
                _ => {
                    for sector in &mut self.sectors[range] {
                        sector.answered = sector.under_way.take().expect("it was under way");
                        if request.kind.is_fua() {
                            sector.durable = sector.answered;
                        }
                    }
                }
            }
        }

        fn cut_power(&mut self, device: &mut EmulatedDevice<SetClock>, clock: &SetClock) {
            self.cuts += 1;
            device.cut_power(Some(Nanos::from_micros(self.rng.below(3_000)))).unwrap();
            let failed = std::iter::from_fn(|| device.next_reply()).map(|reply| {
                self.under_way.remove(reply.tag);
                reply.result.is_err()
            });
            assert!(failed.collect::<Vec<_>>().iter().all(|failed| *failed) && self.under_way.is_empty());
            clock.0.set(clock.now() + Nanos::from_millis(3));
            device.step();
            let read = request(RequestKind::Read, 0, SECTORS as u64);
            device.submit(Tag::new(0, 0), read, Buffer::default());
            clock.0.set(clock.now() + Nanos::from_secs(1));
            device.step();
            let reply = device.next_reply().unwrap();
            assert_eq!((reply.result, device.next_reply()), (Ok(()), None));
            for (sector, bytes) in self.sectors.iter_mut().zip(reply.data.to_vec().chunks(512)) {
                let found = whole(bytes);
                let may_be = (sector.durable..=sector.answered).contains(&found) || Some(found) == sector.under_way;
                assert!(may_be, "{found} is there after a loss of power: {sector:?}");
                *sector = Sector { answered: found, durable: found, under_way: None };
            }
        }
    }

    fn whole(bytes: &[u8]) -> u8 {
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a sector is torn");
        bytes[0]
    }

    #[test]
    fn what_was_flushed_survives_losses_of_power() {
        let mut lost = 0;
        for seed in 0..150 {
            let (mut device, clock) = emulated(4, ServiceTimes::Exponential, seed);
            let mut user = User {
                rng: Rng::new(seed),
                sectors: vec![Sector::default(); SECTORS],
                under_way: TagSlab::default(),
                next: 0,
                cuts: 0,
            };
            while user.next < 120 {
                if user.under_way.len() < 8 {
                    user.submit(&mut device);
                }
                if user.rng.chance(1, 40) {
                    let before: Vec<u8> = user.sectors.iter().map(|sector| sector.answered).collect();
                    user.cut_power(&mut device, &clock);
                    lost +=
                        user.sectors.iter().zip(before).filter(|(sector, before)| sector.answered < *before).count();
                }
                clock.0.set(clock.now() + Nanos(user.rng.below(1_500_000)));
                device.step();
                while let Some(reply) = device.next_reply() {
                    user.take(&reply);
                }
            }
            assert!(user.cuts > 0);
        }
        assert!(lost > 100, "only {lost} sectors were lost: is the cache volatile?");
    }
}
