//! Volumes as what a server serves.

use esker_core::{Bytes, DeviceState, DriveWear, Nanos, Request, Tag};
use esker_volume::{Buffer, DeviceIo, Presence, Reply, ReplyData, SystemClock, Volume, VolumeMember, served_as};
use serde_json::Value;

use crate::background::BackgroundStatus;
use crate::changes::{Changes, VolumeFile};
use crate::control::{ControlError, VolumeOperation};
use crate::log::LogEvent;
use crate::metrics::{Metrics, of_background, of_devices};
use crate::news::News;
use crate::served::Served;
use crate::status::{DeviceStatus, ServingStatus, VolumeStatus, devices};

/// A volume that is served, and the change of its devices that is under way.
pub struct ServedVolume {
    volume: Volume<SystemClock>,
    io: DeviceIo,
    changes: Changes,
    news: News,
}

impl ServedVolume {
    /// A volume whose devices are read and written by `io`. `file` says where they are.
    pub fn new(volume: Volume<SystemClock>, io: &DeviceIo, file: Box<dyn VolumeFile>) -> Self {
        Self { volume, io: io.clone(), changes: Changes::new(file), news: News::default() }
    }

    /// Whether its journal, map or superblocks are being written ([`Volume::is_writing_structures`]).
    pub fn is_writing_structures(&self) -> bool {
        self.volume.is_writing_structures()
    }

    fn devices(&self) -> Vec<DeviceStatus> {
        devices(&self.volume, |name| Some(self.changes.file().wear(name)?.used_percent))
    }

    /// Tells the volume how worn its devices are, as far as they say so.
    fn tell_wear(&mut self) {
        let devices = self.volume.state().devices.iter().enumerate();
        let wear = |(index, device): (usize, &VolumeMember)| Some((index, self.changes.file().wear(&device.name)?));
        let known: Vec<(usize, DriveWear)> = devices.filter_map(wear).collect();
        known.iter().for_each(|(device, wear)| self.volume.learn_wear(*device, wear));
    }

    /// What is said of it.
    pub fn status(&self, serving: &ServingStatus) -> VolumeStatus {
        let state = self.volume.state();
        VolumeStatus {
            volume: state.volume.to_string(),
            kind: state.settings.kind.clone(),
            capacity_bytes: self.volume.capacity().0,
            capacity_max_bytes: self.volume.capacity_max().0,
            generation: state.generation,
            read_only: self.volume.why_only_read(),
            is_changing: self.changes.is_under_way(),
            io: self.io.name().to_string(),
            devices: self.devices(),
            background: BackgroundStatus::of(&self.volume),
            serving: serving.clone(),
        }
    }
}

impl Served for ServedVolume {
    type Operation = VolumeOperation;

    fn capacity(&self) -> Bytes {
        self.volume.capacity()
    }
    fn description(&self) -> String {
        served_as(self.volume.state().volume)
    }
    fn is_read_only(&self) -> bool {
        self.volume.is_only_read()
    }
    fn is_changing(&self) -> bool {
        self.changes.is_under_way()
    }
    fn failed_device(&self) -> Option<String> {
        let has_failed_since = |(index, device): &(usize, &VolumeMember)| {
            let was_used = device.presence == Presence::Present && !device.has_failed;
            was_used && self.volume.device_state(*index) == DeviceState::Failed
        };
        let (_, failed) = self.volume.state().devices.iter().enumerate().find(has_failed_since)?;
        Some(failed.name.clone())
    }
    fn buffer(&mut self, length: usize) -> Buffer {
        self.volume.buffer(length)
    }
    fn submit(&mut self, tag: Tag, request: Request, data: Buffer) {
        self.volume.submit(tag, request, data);
    }
    fn step(&mut self) {
        self.volume.step();
    }
    fn next_reply(&mut self) -> Option<Reply> {
        self.volume.next_reply()
    }
    fn recycle(&mut self, data: ReplyData) {
        self.volume.recycle(data);
    }
    fn written_run(&self, from: Bytes, length: Bytes) -> (Bytes, bool) {
        self.volume.written_run(from, length)
    }
    fn is_busy(&self) -> bool {
        self.volume.is_busy()
    }
    fn next_event(&self) -> Nanos {
        self.volume.next_event().min(self.news.next_look())
    }

    fn operate(
        &mut self,
        asked_by: u32,
        operation: VolumeOperation,
        serving: &ServingStatus,
    ) -> Option<Result<Value, ControlError>> {
        match operation {
            VolumeOperation::Status => {
                let status = serde_json::to_value(self.status(serving));
                Some(status.map_err(|error| ControlError::new(error.to_string())))
            }
            change => self.changes.begin(&mut self.volume, &self.io, asked_by, change).err().map(Err),
        }
    }

    fn next_answer(&mut self) -> Option<(u32, Result<Value, ControlError>)> {
        self.changes.go_on(&mut self.volume)
    }

    fn news(&mut self, now: Nanos) -> Vec<LogEvent> {
        if self.news.is_time_to_look(now) {
            self.tell_wear();
        }
        self.news.of(&self.volume, now)
    }

    fn add_figures(&self, figures: &mut Metrics) {
        let read_only = u64::from(self.is_read_only());
        figures.single(
            "esker_read_only",
            "gauge",
            "1 if nothing can be written: a device is missing, or the volume is served read-only.",
            read_only,
        );
        of_devices(figures, &self.devices());
        if let Some(background) = BackgroundStatus::of(&self.volume) {
            of_background(figures, &background);
        }
    }
}
