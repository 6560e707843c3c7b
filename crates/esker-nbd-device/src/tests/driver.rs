//! Drives devices and volumes as a program does.

use std::time::{Duration, Instant};

use crate::{ExportDevice, NbdUri};
use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Tag};
use esker_volume::{
    Buffer, DeviceIo, DeviceLimits, Identity, IoChoice, OpenDevice, SystemClock, Volume, VolumeSettings, WhatIsThere,
    create,
};
use serde_json::json;

pub(super) const WAYS: [IoChoice; 2] = [IoChoice::Best, IoChoice::Threads];

/// How long anything may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn open(uri: &NbdUri, io: &DeviceIo) -> ExportDevice {
    ExportDevice::open("far", uri, io, DeviceLimits::default()).unwrap()
}

fn devices(uris: &[NbdUri], io: &DeviceIo) -> Vec<Box<dyn OpenDevice>> {
    uris.iter().map(|uri| -> Box<dyn OpenDevice> { Box::new(open(uri, io)) }).collect()
}

/// A volume that is driven.
pub(super) struct Driven {
    pub(super) volume: Volume<SystemClock>,
    pub(super) io: DeviceIo,
}

impl Driven {
    /// Makes a hybrid of the exports.
    pub(super) fn create(uris: &[NbdUri]) {
        let settings = VolumeSettings::new("hybrid", json!({ "extent": "128KiB", "policy": "static-split" }));
        Self::create_with(uris, &settings);
    }

    /// Makes a volume of the exports.
    pub(super) fn create_with(uris: &[NbdUri], settings: &VolumeSettings) {
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let identities: Vec<Identity> = (0..=uris.len() as u8).map(|number| Identity([number + 1; 16])).collect();
        create(&mut devices(uris, &io), settings, &identities, WhatIsThere::Stays).unwrap();
    }

    pub(super) fn open(uris: &[NbdUri], choice: IoChoice) -> Self {
        let io = DeviceIo::start(choice).unwrap();
        let volume = Volume::open(devices(uris, &io), SystemClock::start()).unwrap();
        Self { volume, io }
    }

    /// Performs requests together, and returns their results and data in their order.
    pub(super) fn perform(&mut self, requests: Vec<(Request, Vec<u8>)>) -> Vec<Result<Vec<u8>, DeviceError>> {
        let mut results: Vec<_> = requests.iter().map(|_| None).collect();
        for (index, (request, data)) in requests.into_iter().enumerate() {
            self.volume.submit(Tag::new(index as u32, 0), request, Buffer::from(data));
        }
        let begin = Instant::now();
        while results.iter().any(Option::is_none) {
            assert!(begin.elapsed() < PATIENCE, "there is no answer");
            self.volume.step();
            let mut is_idle = true;
            while let Some(reply) = self.volume.next_reply() {
                is_idle = false;
                results[reply.tag.slot() as usize] = Some(reply.result.map(|()| reply.data.to_vec()));
                self.volume.recycle(reply.data);
            }
            if is_idle && self.volume.next_event() == Nanos::NEVER {
                self.io.wait(Some(PATIENCE));
            } else if is_idle {
                self.io.wait(Some(Duration::from_millis(1)));
            }
        }
        results.into_iter().flatten().collect()
    }

    pub(super) fn read(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, DeviceError> {
        self.perform(vec![(Request::read(Lba::containing(offset), Bytes(length)), Vec::new())]).remove(0)
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), DeviceError> {
        let length = Bytes(data.len() as u64);
        let request = Request::new(RequestKind::Write { fua }, Lba::containing(offset), length);
        self.perform(vec![(request, data.to_vec())]).remove(0).map(drop)
    }

    pub(super) fn flush(&mut self) -> Result<(), DeviceError> {
        let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
        self.perform(vec![(flush, Vec::new())]).remove(0).map(drop)
    }
}
