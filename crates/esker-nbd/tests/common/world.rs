//! A run: client and server, two pipes between them, a device behind the server.

use std::sync::Arc;

use esker_core::{Rng, Tag};
use esker_nbd::{
    ClientEvent, ClientSession, Command, ErrorNumber, Exports, NotIdle, Outcome, Request, RequestEnd, ServerEvent,
    ServerSession,
};

use super::device::{Device, payload, runs};
use super::plan::{Plan, Twin};
use super::{Fresh, Pieces, take_output};

type Server = ServerSession<Vec<u8>, Pieces>;

/// What a request has to end with, as the client's copy of the device says.
#[derive(Debug)]
struct Expected {
    result: Result<(), ErrorNumber>,
    data: Option<Vec<u8>>,
    /// The device when a block status was answered.
    device: Option<Device>,
}

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    exports: Arc<Exports>,
    server: Server,
    client: ClientSession<Vec<u8>, usize>,
    /// Bytes on their way, and all that ever were.
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    pub(crate) client_bytes: Vec<u8>,
    pub(crate) server_bytes: Vec<u8>,
    /// What the server has handed out and was not answered.
    pending: Vec<(usize, Request<Vec<u8>>)>,
    handed_out: usize,
    submitted: usize,
    stored: Device,
    model: Device,
    before_last_write: Device,
    writes: u32,
    expected: Vec<Option<Expected>>,
    ended: usize,
    data_under_way: i64,
    is_open: bool,
    has_left: bool,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let exports = Arc::new(plan.exports());
        let expected = plan.commands.iter().map(|_| None).collect();
        Self {
            rng: Rng::derive(plan.seed, "world"),
            server: ServerSession::new(plan.server.clone(), exports.clone()),
            client: ClientSession::new(plan.client.clone()),
            plan,
            exports,
            to_server: Vec::new(),
            to_client: Vec::new(),
            client_bytes: Vec::new(),
            server_bytes: Vec::new(),
            pending: Vec::new(),
            handed_out: 0,
            submitted: 0,
            stored: Device::new(),
            model: Device::new(),
            before_last_write: Device::new(),
            writes: 0,
            expected,
            ended: 0,
            data_under_way: 0,
            is_open: false,
            has_left: false,
        }
    }

    /// Runs to the end. An error says what went wrong.
    pub(crate) fn run(mut self) -> Result<Self, String> {
        let mut idle = 0;
        while !(self.client.is_finished() && self.server.is_finished()) {
            let before = (self.client_bytes.len(), self.server_bytes.len(), self.ended, self.pending.len());
            let pipes = (self.to_server.len(), self.to_client.len());
            self.step()?;
            self.take_events()?;
            let after = (self.client_bytes.len(), self.server_bytes.len(), self.ended, self.pending.len());
            idle = if (before, pipes) == (after, (self.to_server.len(), self.to_client.len())) { idle + 1 } else { 0 };
            if idle > 1000 {
                return Err(format!("nothing happens any more, with {} requests ended", self.ended));
            }
        }
        if self.ended != self.plan.commands.len() || !self.has_left {
            return Err(format!("{} of {} requests ended", self.ended, self.plan.commands.len()));
        }
        if self.data_under_way != 0 {
            return Err(format!("{} data were not given back", self.data_under_way));
        }
        if self.stored != self.model && self.plan.twin == Twin::Sound {
            return Err("the devices differ".to_string());
        }
        Ok(self)
    }

    fn step(&mut self) -> Result<(), String> {
        // A few bytes, or many.
        let limit = 1 + self.rng.below([4, 600, 200_000][self.rng.clone().below(3) as usize]) as usize;
        match self.rng.below(6) {
            0 => {
                let count = take_output(&mut self.to_server, limit, |slices| self.client.gather(slices));
                self.client_bytes.extend_from_slice(&self.to_server[self.to_server.len() - count..]);
                self.client.sent(count);
            }
            1 => {
                let count = take_output(&mut self.to_client, limit, |slices| self.server.gather(slices));
                self.server_bytes.extend_from_slice(&self.to_client[self.to_client.len() - count..]);
                self.server.sent(count, |_| self.data_under_way -= 1);
            }
            2 => {
                let space = self.server.space();
                if let Some(count) = space.map(|space| copy(&mut self.to_server, space, limit)) {
                    self.server.received(count);
                }
            }
            3 => {
                let space = self.client.space();
                if let Some(count) = space.map(|space| copy(&mut self.to_client, space, limit)) {
                    self.client.received(count);
                }
            }
            4 => self.submit()?,
            _ if self.plan.takes_over && self.rng.chance(1, 4) => self.take_over()?,
            _ => self.answer()?,
        }
        if self.server.under_way() > self.plan.server.requests_max {
            return Err(format!("{} requests are under way", self.server.under_way()));
        }
        Ok(())
    }

    fn take_events(&mut self) -> Result<(), String> {
        while let Some(event) = self.server.next_event(&mut Fresh) {
            match event {
                ServerEvent::Request(request) => {
                    self.pending.push((self.handed_out, request));
                    self.handed_out += 1;
                }
                ServerEvent::StartTls => self.server.tls_started(),
                ServerEvent::Opened(export) if export.name == "disk" => {}
                ServerEvent::Disconnected => self.has_left = true,
                event => return Err(format!("the server: {event:?}")),
            }
        }
        while let Some(event) = self.client.next_event() {
            match event {
                ClientEvent::StartTls => self.client.tls_started(),
                ClientEvent::Opened(_) => self.is_open = true,
                ClientEvent::Done(done) => self.ended(done)?,
                event => return Err(format!("the client: {event:?}")),
            }
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), String> {
        let many = if self.plan.at_once { usize::MAX } else { 1 + self.rng.below(3) as usize };
        for _ in 0..many.min(self.plan.commands.len() - self.submitted) {
            let (id, command) = (self.submitted, self.plan.commands[self.submitted]);
            if let Err(rejected) = self.client.submit(command, id, buffer(id, command)) {
                match rejected.why {
                    esker_nbd::SubmitError::TooMany => return Ok(()),
                    esker_nbd::SubmitError::Closed if !self.is_open => return Ok(()),
                    why => return Err(format!("{command:?}: {why}")),
                }
            }
            self.submitted += 1;
        }
        if self.is_open && self.submitted == self.plan.commands.len() {
            self.client.disconnect();
        }
        Ok(())
    }

    /// Hands the server's side over to another session, if it is idle.
    fn take_over(&mut self) -> Result<(), String> {
        self.server.hold(true);
        let taken = self.server.state();
        self.server.hold(false);
        match taken {
            Ok(mut state) => {
                if self.plan.twin == Twin::LosesByteAtTakeOver && self.server.under_way() == 0 {
                    state.pop();
                }
                let restored = Server::restore(self.plan.server.clone(), &self.exports, &state);
                self.server = restored.map_err(|error| error.to_string())?;
            }
            Err(NotIdle::NotOpen | NotIdle::Encrypted | NotIdle::UnderWay) => {}
        }
        Ok(())
    }

    /// Executes and answers any of the pending requests.
    fn answer(&mut self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let index = self.rng.below(self.pending.len() as u64) as usize;
        let (number, Request { id, command, payload: received }) = self.pending.swap_remove(index);
        if command != self.plan.commands[number] {
            return Err(format!("{:?} arrives as {command:?}", self.plan.commands[number]));
        }
        if self.rng.chance(1, 10) {
            let error = ErrorNumber::ALL[self.rng.below(7) as usize];
            self.expected[number] = Some(Expected { result: Err(error), data: None, device: None });
            let outcome = match command {
                Command::Flush => Outcome::Failed(error),
                command if self.rng.chance(1, 2) => Outcome::FailedAt(error, command.range().0),
                _ => Outcome::Failed(error),
            };
            self.server.reply(id, outcome, None);
            return Ok(());
        }
        let sent = payload(number, command.range().1);
        let data = self.model.execute(command, &sent);
        let device = matches!(command, Command::BlockStatus { .. }).then(|| self.model.clone());
        self.expected[number] = Some(Expected { result: Ok(()), data, device });
        self.execute(id, command, &received.unwrap_or_default());
        Ok(())
    }

    fn execute(&mut self, id: Tag, command: Command, received: &[u8]) {
        if let Command::Write { .. } = command {
            self.writes += 1;
            self.before_last_write = self.stored.clone();
            if self.plan.twin == Twin::LosesWrites && self.writes.is_multiple_of(3) {
                self.server.reply(id, Outcome::Done, None);
                return;
            }
        }
        let read = match self.plan.twin {
            Twin::ReadsOldData => self.before_last_write.clone().execute(command, received),
            _ => None,
        };
        let Some(bytes) = self.stored.execute(command, received).map(|now| read.unwrap_or(now)) else {
            let extents = self.stored.extents(command);
            let is_status = matches!(command, Command::BlockStatus { .. });
            let outcome = if is_status { Outcome::Extents(&extents) } else { Outcome::Done };
            self.server.reply(id, outcome, None);
            return;
        };
        let (runs, mut data) = runs(&bytes, &mut self.rng);
        let (outcome, bytes) = match self.rng.chance(1, 2) {
            true => (Outcome::Runs(&runs), &mut data),
            false => (Outcome::Done, &mut bytes.clone()),
        };
        if self.plan.twin == Twin::LiesAboutHoles && matches!(outcome, Outcome::Done) && bytes.first() == Some(&0) {
            bytes[0] = 1;
        }
        let data = Some(Pieces::cut(bytes, &mut self.rng)).filter(|_| !bytes.is_empty());
        self.data_under_way += i64::from(data.is_some());
        self.server.reply(id, outcome, data);
    }

    /// Compares the end of a request.
    fn ended(&mut self, done: RequestEnd<Vec<u8>, usize>) -> Result<(), String> {
        self.ended += 1;
        let command = self.plan.commands[done.id];
        let Some(expected) = self.expected[done.id].take() else {
            return Err(format!("{command:?} ends twice, or before it was executed"));
        };
        if done.result != expected.result {
            return Err(format!("{command:?}: {:?} instead of {:?}", done.result, expected.result));
        }
        if expected.data.is_some() && done.buffer != expected.data {
            return Err(format!("{command:?} returns other bytes"));
        }
        if matches!(command, Command::Write { .. }) && done.buffer != buffer(done.id, command) {
            return Err(format!("{command:?} does not give its buffer back"));
        }
        if expected.device.is_some_and(|device| !device.agrees_with(command, &done.extents)) {
            return Err(format!("{command:?} is answered with {:?}", done.extents));
        }
        Ok(())
    }
}

/// The buffer that the client submits with its `id`-th request.
pub(crate) fn buffer(id: usize, command: Command) -> Option<Vec<u8>> {
    match command {
        Command::Read { length, .. } => Some(vec![0xdd; length as usize]),
        Command::Write { length, .. } => Some(payload(id, length)),
        _ => None,
    }
}

fn copy(pipe: &mut Vec<u8>, space: &mut [u8], limit: usize) -> usize {
    let count = pipe.len().min(space.len()).min(limit);
    space[..count].copy_from_slice(&pipe[..count]);
    pipe.drain(..count);
    count
}
