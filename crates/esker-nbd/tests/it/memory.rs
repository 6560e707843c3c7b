//! The worst that a client can make a server keep.

use std::io::IoSlice;
use std::sync::Arc;

use allocation_counter::measure;
use esker_core::{Bytes, Tag};
use esker_nbd::{Command, Export, Exports, Extent, Outcome, Run, ServerEvent, ServerSession, ServerSettings};

use crate::common::Fresh;

type Server = ServerSession<Vec<u8>, Vec<u8>>;

fn receive(session: &mut Server, bytes: &[u8]) {
    session.space().expect("room")[..bytes.len()].copy_from_slice(bytes);
    session.received(bytes.len());
}

fn send_all(session: &mut Server) {
    while session.has_output() {
        let mut slices = [IoSlice::new(&[]); 64];
        let count = session.gather(&mut slices);
        let bytes = slices[..count].iter().map(|slice| slice.len()).sum();
        session.sent(bytes, drop);
    }
}

/// Answers nothing; returns what was handed out.
fn requests(session: &mut Server) -> Vec<(Tag, Command)> {
    let event = || session.next_event(&mut Fresh);
    let request = |event| match event {
        ServerEvent::Request(request) => Some((request.id, request.command)),
        _ => None,
    };
    std::iter::from_fn(event).filter_map(request).collect()
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
}

fn request(kind: u16, length: u32) -> Vec<u8> {
    let parts = [&0x2560_9513u32.to_be_bytes()[..], &[0; 2], &kind.to_be_bytes(), &[0; 16], &length.to_be_bytes()];
    parts.concat()
}

fn settings() -> ServerSettings {
    ServerSettings { requests_max: 64, bytes_max: Bytes::mib(2), ..ServerSettings::default() }
}

fn exports() -> Exports {
    Exports::new(vec![Export::new("disk", Bytes::mib(64))], Some("disk")).unwrap()
}

/// With structured replies and `base:allocation`.
fn opened() -> Server {
    let mut session = Server::new(settings(), Arc::new(exports()));
    let context = [&[0; 4][..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
    for bytes in [vec![0, 0, 0, 3], option(8, &[]), option(10, &context), option(7, &[0; 6])] {
        send_all(&mut session);
        receive(&mut session, &bytes);
        requests(&mut session);
    }
    send_all(&mut session);
    session
}

#[track_caller]
fn within_bound(exports: &Exports, work: impl FnOnce()) {
    let bound = Server::memory_bound(&settings(), exports).0;
    let taken = measure(work).bytes_max;
    assert!(taken <= bound, "{taken} bytes of {bound}");
}

#[test]
fn replies_that_nobody_takes_are_bounded() {
    for (kind, length) in [(7, 4096), (0, 4096), (0, 1 << 20), (1, 0), (3, 1)] {
        within_bound(&exports(), || {
            let mut session = opened();
            receive(&mut session, &request(kind, length).repeat(1000));
            let pending = requests(&mut session);
            assert!(session.under_way() > 1 && session.space().is_none());
            let extents = [Extent { length: 1, is_hole: false, is_zero: false }; 4096];
            for (id, command) in pending {
                let runs: Vec<Run> =
                    (0..64).map(|run| [Run::Data(length / 64), Run::Hole(length / 64)][run % 2]).collect();
                match command {
                    Command::Read { .. } => session.reply(id, Outcome::Runs(&runs), Some(vec![0; length as usize / 2])),
                    _ => session.reply(id, Outcome::Extents(&extents), None),
                };
            }
            assert!(requests(&mut session).is_empty());
        });
    }
}

#[test]
fn payloads_that_come_are_bounded() {
    within_bound(&exports(), || {
        let mut session = opened();
        let (write, mut kept) = ([request(1, 1 << 20), vec![0; 1 << 20]].concat(), Vec::new());
        for _ in 0..5 {
            let mut rest = &write[..];
            while let Some(space) = session.space().filter(|_| !rest.is_empty()) {
                let count = space.len().min(rest.len());
                space[..count].copy_from_slice(&rest[..count]);
                session.received(count);
                rest = &rest[count..];
                kept.extend(std::iter::from_fn(|| session.next_event(&mut Fresh)));
            }
        }
        assert_eq!((session.under_way(), kept.len()), (2, 2));
        drop(write);
    });
}

#[test]
fn options_whose_replies_nobody_takes_are_bounded() {
    let export = |number: usize| Export {
        description: "d".repeat(4096),
        ..Export::new(format!("{number:04}{}", "n".repeat(4000)), Bytes(4096))
    };
    let exports = Arc::new(Exports::new((0..100).map(export).collect(), None).unwrap());
    within_bound(&exports, || {
        let mut session = Server::new(settings(), exports.clone());
        receive(&mut session, &[0, 0, 0, 3]);
        requests(&mut session);
        send_all(&mut session);
        receive(&mut session, &option(3, &[]).repeat(1000));
        requests(&mut session);
        assert!(session.has_output());
    });
}
