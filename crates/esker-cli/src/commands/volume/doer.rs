//! Who changes a volume: its server, or, if nobody serves it, this program itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_serve::{ServeSettings, VolumeOperation, VolumeStatus, call};
use esker_volume::Clock;
use serde_json::Value;

use super::server::{VolumeServer, open};
use super::session::{END_LIMIT, Serving};
use crate::args::Common;
use crate::cancel;
use crate::commands::serving::{control_socket, refused, senseless};
use crate::failure::Failure;
use crate::values::Export;

/// Time between two looks at a drain.
const LOOK: Duration = Duration::from_millis(100);

/// Who changes the volume.
pub(super) enum Doer {
    /// The server whose control socket is in this place.
    Server(PathBuf),
    /// This program.
    Own(Box<VolumeServer>),
}

impl Doer {
    pub(super) fn find(file: &Path, common: &Common) -> Result<Self, Failure> {
        Self::find_serving(file, Serving::default(), common)
    }

    /// Like [`Self::find`]; `serving` says how this program opens the volume.
    pub(super) fn find_serving(file: &Path, serving: Serving, common: &Common) -> Result<Self, Failure> {
        let socket = control_socket(file);
        match call(&socket, &VolumeOperation::Status) {
            Err(error) if error.is_unserved => {
                let volume = Export { name: "volume".to_string(), file: file.to_path_buf() };
                let server = open(&[volume], serving, &ServeSettings::default(), common)?;
                cancel::leaves("a change that was begun is made or not made, as a whole");
                Ok(Self::Own(Box::new(server)))
            }
            Err(error) => Err(refused(error)),
            Ok(_) => Ok(Self::Server(socket)),
        }
    }

    pub(super) fn perform(&mut self, request: &VolumeOperation) -> Result<Value, Failure> {
        let answer = match self {
            Self::Server(socket) => call(socket, request),
            Self::Own(server) => server.perform(request.clone()),
        };
        answer.map_err(refused)
    }

    pub(super) fn status(&mut self) -> Result<VolumeStatus, Failure> {
        match self {
            Self::Server(_) => read_status(self.perform(&VolumeOperation::Status)?),
            Self::Own(server) => Ok(server.served(0).status(&server.status(0))),
        }
    }

    /// Notes that a drain was begun, which goes on without this program.
    pub(super) fn drains(&self) {
        cancel::leaves(match self {
            Self::Server(_) => "the drain goes on; `esker volume status` shows it, and --undo ends it",
            Self::Own(_) => "the drain goes on once the volume is used again; --undo ends it",
        });
    }

    /// Leaves a volume that nobody serves with all devices alike. Whoever opens it next does so otherwise: Ctrl-C ends
    /// the wait, and what the command has done is done.
    pub(super) fn end(self) {
        let Self::Own(mut server) = self else { return };
        let limit = server.clock().now() + END_LIMIT;
        server.turn();
        let is_over = |server: &VolumeServer| server.clock().now() >= limit || cancel::requested();
        while server.served(0).is_writing_structures() && !is_over(&server) {
            if !server.turn() {
                server.wait(Some(LOOK));
            }
        }
    }

    /// Lets some time pass, in which a volume that nobody serves goes on.
    pub(super) fn pass_time(&mut self) {
        match self {
            Self::Server(_) => std::thread::sleep(LOOK),
            Self::Own(server) => {
                if !server.turn() {
                    server.wait(Some(LOOK));
                }
            }
        }
    }
}

pub(super) fn read_status(value: Value) -> Result<VolumeStatus, Failure> {
    serde_json::from_value(value).map_err(|error| senseless(&error))
}
