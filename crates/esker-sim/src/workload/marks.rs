//! Which priority and stream the requests of each volume have.

use esker_core::{Priority, Request, StreamId, did_you_mean};
use esker_trace::VolumeIndex;

use super::WorkloadError;
use crate::config::{StreamChoice, WorkloadSettings};

/// What requests are marked with.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    priority: Priority,
    /// `None`: as many streams as volumes.
    stream: Option<StreamId>,
    /// By volume, up to the last one that differs from the others.
    volumes: Vec<(Priority, StreamId)>,
}

impl Marks {
    /// What `settings` ask for, where the volumes have these names.
    pub(super) fn new(settings: &WorkloadSettings, names: &[String]) -> Result<Self, WorkloadError> {
        let stream = match settings.stream {
            StreamChoice::By(_) => None,
            StreamChoice::Number(stream) => Some(StreamId(stream)),
        };
        let mut marks = Self { priority: settings.priority.into(), stream, volumes: Vec::new() };
        for (name, volume) in &settings.volumes {
            let Some(index) = names.iter().position(|other| other == name) else {
                let message = format!("what was read of the trace has no volume `{name}`");
                let known = || format!("it has {}", names.iter().take(8).cloned().collect::<Vec<_>>().join(", "));
                let nearest = did_you_mean(name, names.iter().map(String::as_str));
                let hint = nearest.map(|nearest| format!("did you mean `{nearest}`?")).unwrap_or_else(known);
                return Err(WorkloadError { key: "volumes", message, hint: Some(hint) });
            };
            while marks.volumes.len() <= index {
                marks.volumes.push(marks.of(VolumeIndex(marks.volumes.len() as u32)));
            }
            let (priority, stream) = &mut marks.volumes[index];
            *priority = volume.priority.map_or(*priority, Priority::from);
            *stream = volume.stream.map_or(*stream, StreamId);
        }
        Ok(marks)
    }

    #[inline]
    fn of(&self, volume: VolumeIndex) -> (Priority, StreamId) {
        let others = || (self.priority, self.stream.unwrap_or(StreamId(volume.0 as u16)));
        self.volumes.get(volume.0 as usize).copied().unwrap_or_else(others)
    }

    /// `request` of `volume` as it is sent.
    #[inline]
    pub(super) fn mark(&self, volume: VolumeIndex, request: Request) -> Request {
        let (priority, stream) = self.of(volume);
        Request { priority, stream, ..request }
    }
}
