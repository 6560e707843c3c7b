//! Marks the requests of each volume with priority and stream.

use esker_core::{Priority, Request, StreamId, did_you_mean};
use esker_trace::VolumeIndex;

use super::WorkloadError;
use crate::config::{StreamChoice, WorkloadSettings};

/// The marks for requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    priority: Priority,
    /// `None`: each volume is a stream.
    stream: Option<StreamId>,
    /// Marks by volume, up to the last one that differs from the default.
    volumes: Vec<(Priority, StreamId)>,
}

impl Marks {
    /// The marks that `settings` ask for, with volumes of these names.
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

    /// Returns `request` of `volume` with its marks.
    #[inline]
    pub(super) fn mark(&self, volume: VolumeIndex, request: Request) -> Request {
        let (priority, stream) = self.of(volume);
        Request { priority, stream, ..request }
    }
}
