//! Bytes of anybody, into either side.

use std::sync::Arc;

use esker_core::{Bytes, Rng};
use esker_nbd::{
    ClientEvent, ClientSession, Command, ErrorNumber, Extent, Outcome, Request, Run, ServerEvent, ServerSession,
    ServerSettings, TlsPolicy, TlsWish,
};

use super::plan::Plan;
use super::world::{World, buffer};
use super::{Fresh, Pieces, take_output};

/// What a run with hostile bytes is like; small, so that its limits are met.
pub(crate) fn settings() -> ServerSettings {
    ServerSettings { tls: TlsPolicy::Offered, requests_max: 6, bytes_max: Bytes::kib(300), ..ServerSettings::default() }
}

/// The valid run that inputs are made from.
pub(crate) fn plan(number: u64) -> Plan {
    let mut plan = Plan::random(number, 12);
    (plan.at_once, plan.takes_over) = (true, false);
    plan.client.requests_max = 16;
    // What comes behind the start of TLS ends a session, unless it comes later.
    (plan.client.tls, plan.server.tls) = (TlsWish::No, TlsPolicy::Offered);
    plan
}

/// What the client sends in valid runs, and what the server sends.
pub(crate) fn corpus(runs: u64) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let run = |number| World::new(plan(number)).run().expect("a valid run");
    (0..runs).map(run).map(|world| (world.client_bytes, world.server_bytes)).unzip()
}

/// Changes some bytes of `valid`, or is something else altogether.
pub(crate) fn mutated(valid: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    if rng.chance(1, 20) {
        bytes = (0..rng.below(2000)).map(|_| rng.next_u64() as u8).collect();
    }
    for _ in 0..rng.below(4) {
        if bytes.is_empty() {
            break;
        }
        // Headers are at the beginning of messages, and most of what is before requests is headers.
        let reach = if rng.chance(1, 2) { bytes.len().min(300) } else { bytes.len() };
        let at = rng.below(reach as u64) as usize;
        match rng.below(5) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes.truncate(at),
            3 => {
                let length = (rng.below(64) as usize).min(bytes.len() - at);
                bytes.drain(at..at + length);
            }
            _ => {
                let length = (rng.below(64) as usize).min(bytes.len() - at);
                let again = bytes[at..at + length].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

/// Gives a server `input`, in pieces that follow from `seed`. Whatever it hands out keeps to its promises. Returns true
/// if an export was opened.
pub(crate) fn check_server(mut input: &[u8], seed: u64) -> bool {
    let mut rng = Rng::derive(seed, "hostile client");
    let plan = plan(seed % 8);
    let exports = Arc::new(plan.exports());
    let mut session = ServerSession::<Vec<u8>, Pieces>::new(settings(), exports);
    let (mut pending, mut reads, mut sink) = (Vec::new(), 0, Vec::new());
    for _ in 0..20_000 {
        while let Some(event) = session.next_event(&mut Fresh) {
            match event {
                ServerEvent::Request(request) => pending.push(checked(request)),
                ServerEvent::StartTls => session.tls_started(),
                ServerEvent::Failed(error) => assert_eq!(error.to_string().lines().count(), 1),
                ServerEvent::Opened(_) | ServerEvent::Disconnected => {}
            }
        }
        assert!(session.under_way() <= 6 && pending.len() <= 6);
        if session.is_finished() || (input.is_empty() && pending.is_empty() && !session.has_output()) {
            break;
        }
        match rng.below(3) {
            0 => {
                sink.clear();
                let limit = 1 + rng.below(20_000) as usize;
                let count = take_output(&mut sink, limit, |slices| session.gather(slices));
                session.sent(count, |_| reads += 1);
            }
            1 if !pending.is_empty() => answer(&mut session, pending.swap_remove(0), &mut rng),
            _ => {
                let limit = 1 + rng.below(20_000) as usize;
                if let Some(space) = session.space() {
                    let count = space.len().min(input.len()).min(limit);
                    space[..count].copy_from_slice(&input[..count]);
                    session.received(count);
                    input = &input[count..];
                }
            }
        }
    }
    !session.is_negotiating()
}

/// What is handed out lies within the export.
fn checked(request: Request<Vec<u8>>) -> (esker_core::Tag, Command) {
    let (offset, length) = request.command.range();
    assert!(offset + u64::from(length) <= super::plan::SIZE);
    let payload = request.payload.map(|payload| payload.len());
    assert_eq!(payload, matches!(request.command, Command::Write { .. }).then_some(length as usize));
    (request.id, request.command)
}

fn answer(session: &mut ServerSession<Vec<u8>, Pieces>, (id, command): (esker_core::Tag, Command), rng: &mut Rng) {
    let extents = [Extent { length: 1000, is_hole: false, is_zero: true }; 5];
    let whole = |length: u32, rng: &mut Rng| Some(Pieces::cut(&vec![7; length as usize], rng));
    match command {
        _ if rng.chance(1, 5) => drop(session.reply(id, Outcome::Failed(ErrorNumber::Io), None)),
        Command::Read { length, .. } if length > 1 && rng.chance(1, 2) => {
            let runs = [Run::Hole(1), Run::Data(length - 1)];
            session.reply(id, Outcome::Runs(&runs), whole(length - 1, rng));
        }
        Command::Read { length, .. } => drop(session.reply(id, Outcome::Done, whole(length, rng))),
        Command::BlockStatus { .. } => drop(session.reply(id, Outcome::Extents(&extents), None)),
        _ => drop(session.reply(id, Outcome::Done, None)),
    }
}

/// Gives a client `input`, in pieces that follow from `seed`. Returns true if it opened the export.
pub(crate) fn check_client(mut input: &[u8], number: u64, seed: u64) -> bool {
    let mut rng = Rng::derive(seed, "hostile server");
    let plan = plan(number);
    let mut session = ClientSession::<Vec<u8>, usize>::new(plan.client.clone());
    let (mut is_open, mut ends, mut sink) = (false, 0, Vec::new());
    for _ in 0..20_000 {
        while let Some(event) = session.next_event() {
            match event {
                ClientEvent::StartTls => session.tls_started(),
                ClientEvent::Opened(_) => {
                    is_open = true;
                    for (id, &command) in plan.commands.iter().enumerate() {
                        // What the server says about the export may be anything.
                        let _ = session.submit(command, id, buffer(id, command));
                    }
                }
                ClientEvent::Done(done) => {
                    ends += 1;
                    let bytes = done.buffer.map(|buffer| buffer.len());
                    assert_eq!(bytes, buffer(done.id, plan.commands[done.id]).map(|buffer| buffer.len()));
                }
                ClientEvent::Failed(error) => assert_eq!(error.to_string().lines().count(), 1),
                ClientEvent::Listed { .. } | ClientEvent::ListEnd => {}
            }
        }
        assert!(ends <= plan.commands.len());
        if session.is_finished() || (input.is_empty() && !session.has_output()) {
            break;
        }
        let limit = 1 + rng.below(20_000) as usize;
        if rng.chance(1, 2) {
            sink.clear();
            let count = take_output(&mut sink, limit, |slices| session.gather(slices));
            session.sent(count);
        } else if let Some(space) = session.space() {
            let count = space.len().min(input.len()).min(limit);
            space[..count].copy_from_slice(&input[..count]);
            session.received(count);
            input = &input[count..];
        }
    }
    is_open
}
