//! Requests allocate nothing once as many have been under way before.

use std::io::IoSlice;
use std::sync::Arc;

use allocation_counter::measure;
use esker_core::{Bytes, Rng};
use esker_nbd::{
    ClientEvent, ClientSession, ClientSettings, Command, Export, Exports, Memory, Outcome, ServerEvent, ServerSession,
    ServerSettings,
};

/// Payloads and data of reads are used again.
struct Pool(Vec<Vec<u8>>);

impl Memory for Pool {
    type Payload = Vec<u8>;
    fn take(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = self.0.pop().unwrap_or_else(|| Vec::with_capacity(256 << 10));
        buffer.resize(length, 0);
        buffer
    }
}

struct Pair {
    server: ServerSession<Vec<u8>, Vec<u8>>,
    client: ClientSession<Vec<u8>, usize>,
    pool: Pool,
    buffers: Vec<Vec<u8>>,
    pending: Vec<(esker_core::Tag, Command)>,
}

impl Pair {
    fn new(structured: bool) -> Self {
        let exports = Exports::new(vec![Export::new("disk", Bytes::mib(64))], None).unwrap();
        let settings = ClientSettings { structured, block_status: false, ..ClientSettings::open("disk") };
        Self {
            server: ServerSession::new(ServerSettings::default(), Arc::new(exports)),
            client: ClientSession::new(settings),
            pool: Pool(Vec::with_capacity(64)),
            buffers: Vec::with_capacity(64),
            pending: Vec::with_capacity(64),
        }
    }

    /// Moves bytes until nothing is left to be sent, and answers requests.
    fn run(&mut self) {
        while self.client.has_output() || self.server.has_output() || !self.pending.is_empty() {
            let mut slices = [IoSlice::new(&[]); 64];
            let count = self.client.gather(&mut slices);
            let moved = copy(&slices[..count], self.server.space());
            self.client.sent(moved);
            self.server.received(moved);
            self.serve();
            let mut slices = [IoSlice::new(&[]); 64];
            let count = self.server.gather(&mut slices);
            let moved = copy(&slices[..count], self.client.space());
            self.server.sent(moved, |data| self.pool.0.push(data));
            self.client.received(moved);
            while let Some(event) = self.client.next_event() {
                match event {
                    ClientEvent::Done(done) => self.buffers.extend(done.buffer),
                    ClientEvent::Opened(_) => {}
                    event => panic!("{event:?}"),
                }
            }
            self.serve();
        }
    }

    fn serve(&mut self) {
        while let Some(event) = self.server.next_event(&mut self.pool) {
            match event {
                ServerEvent::Request(request) => {
                    self.pending.push((request.id, request.command));
                    self.pool.0.extend(request.payload);
                }
                ServerEvent::Opened(_) => {}
                event => panic!("{event:?}"),
            }
        }
        while let Some((id, command)) = self.pending.pop() {
            let data = match command {
                Command::Read { length, .. } => Some(self.pool.take(length as usize)),
                _ => None,
            };
            self.server.reply(id, Outcome::Done, data);
        }
    }

    fn rounds(&mut self, rounds: u32, rng: &mut Rng) {
        for _ in 0..rounds {
            for id in 0..32 {
                let length = 512 << rng.below(9);
                let offset = rng.below(64 << 11) / 256 * (256 << 9) % ((64 << 20) - u64::from(length));
                let mut buffer = self.buffers.pop().unwrap_or_else(|| Vec::with_capacity(256 << 10));
                buffer.resize(length as usize, 0);
                let command = match rng.below(2) {
                    0 => Command::Read { offset, length, in_one_piece: false },
                    _ => Command::Write { offset, length, durable: false },
                };
                self.client.submit(command, id, Some(buffer)).expect("room for it");
            }
            self.run();
        }
    }
}

fn copy(slices: &[IoSlice<'_>], space: Option<&mut [u8]>) -> usize {
    let (space, mut copied) = (space.unwrap_or_default(), 0);
    for slice in slices {
        let count = slice.len().min(space.len() - copied);
        space[copied..copied + count].copy_from_slice(&slice[..count]);
        copied += count;
    }
    copied
}

#[test]
fn requests_allocate_nothing_on_either_side() {
    for structured in [false, true] {
        let (mut pair, mut rng) = (Pair::new(structured), Rng::new(1));
        // Greeting and options go back and forth.
        for _ in 0..20 {
            let mut slices = [IoSlice::new(&[]); 8];
            let count = pair.server.gather(&mut slices);
            let moved = copy(&slices[..count], pair.client.space());
            pair.server.sent(moved, drop);
            pair.client.received(moved);
            while pair.client.next_event().is_some() {}
            pair.run();
        }
        assert!(!pair.client.is_negotiating());
        pair.rounds(50, &mut rng);
        let used = measure(|| pair.rounds(200, &mut rng));
        assert_eq!(used.count_total, 0, "structured: {structured}");
    }
}
