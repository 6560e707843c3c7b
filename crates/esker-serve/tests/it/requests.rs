//! What clients ask for, and what they get.

use std::collections::BTreeMap;

use esker_core::{Bytes, Rng};
use esker_nbd::{Command, ErrorNumber, Extent};
use esker_serve::ServeSettings;
use esker_volume::IoChoice;

use super::client::Client;
use super::served::Home;

const WAYS: [IoChoice; 2] = [IoChoice::Best, IoChoice::Threads];

#[test]
fn what_was_written_is_read_also_by_others_and_after_a_restart() {
    let home = Home::new(Bytes::mib(16));
    for (life, choice) in (1u8..).zip(WAYS) {
        let server = home.serve(choice, ServeSettings::default());
        let mut client = Client::connect(&server.socket);
        assert_eq!((client.export.block_sizes.minimum, client.export.can_multi_conn()), (512, true));
        let bytes = vec![life; 300 << 10];
        client.write(512, &bytes, false).unwrap();
        let mut other = Client::connect(&server.socket);
        assert_eq!(other.read(512, 300 << 10).unwrap(), bytes);
        other.flush().unwrap();
        let zeroes = Command::WriteZeroes {
            offset: 1 << 20,
            length: 8 << 20,
            durable: true,
            no_hole: life == 2,
            only_if_fast: false,
        };
        client.write(3 << 20, &bytes, true).unwrap();
        assert_eq!(client.perform(zeroes, None).result, Ok(()));
        assert_eq!(other.read(3 << 20, 4096).unwrap(), [0; 4096]);
        assert_eq!(client.perform(Command::Cache { offset: 0, length: 4096 }, None).result, Ok(()));
        drop(server);
        let server = home.serve(choice, ServeSettings::default());
        let mut client = Client::connect(&server.socket);
        assert_eq!(client.read(512, 300 << 10).unwrap(), bytes);
        assert_eq!(client.read(3 << 20, 4096).unwrap(), [0; 4096]);
        let trim = Command::Trim { offset: 0, length: 2 << 20, durable: true };
        assert_eq!(client.perform(trim, None).result, Ok(()));
        assert_eq!(client.read(512, 4096).unwrap(), [0; 4096]);
    }
}

#[test]
fn requests_that_make_no_sense_have_their_errors() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    let size = client.export.size.0;
    // This client refuses what a server would refuse: others are checked with the protocol.
    assert_eq!(client.read(size - 4096, 4096).unwrap(), [0; 4096]);
    let zeroes =
        |offset, no_hole| Command::WriteZeroes { offset, length: 4096, durable: false, no_hole, only_if_fast: true };
    assert_eq!(client.perform(zeroes(0, false), None).result, Ok(()));
    assert_eq!(client.perform(zeroes(0, true), None).result, Err(ErrorNumber::NotSupported));
    client.write(0, &[1; 4096], false).unwrap();
    assert_eq!(client.perform(zeroes(0, false), None).result, Err(ErrorNumber::NotSupported));
    drop(server);
    let server = home.serve(IoChoice::Best, ServeSettings { is_read_only: true, ..ServeSettings::default() });
    assert!(Client::connect(&server.socket).export.is_read_only());
}

#[test]
fn what_was_never_written_is_told_as_holes() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    client.write(128 << 10, &[1; 8192], false).unwrap();
    client.write((128 << 10) + 12_288, &[1; 512], false).unwrap();
    let status = Command::BlockStatus { offset: 4096, length: 1 << 20, one_extent: false };
    let extent = |length, is_hole| Extent { length, is_hole, is_zero: is_hole };
    let expected = [
        extent(124 << 10, true),
        extent(8192, false),
        extent(4096, true),
        extent(4096, false),
        extent((1 << 20) - (124 << 10) - 16_384, true),
    ];
    assert_eq!(client.perform(status, None).extents, expected);
}

/// Random requests of several clients at once, each on a part of its own, against arrays of bytes.
#[test]
fn many_requests_of_several_clients_are_as_those_of_an_array() {
    for choice in WAYS {
        let home = Home::new(Bytes::mib(16));
        let server = home.serve(choice, ServeSettings::default());
        let threads: Vec<_> = (0..3u64)
            .map(|number| {
                let socket = server.socket.clone();
                std::thread::spawn(move || run_client(&socket, number, 4 << 20))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let counts = server.status().serving.requests;
        assert!(counts.reads > 500 && counts.writes > 500 && counts.failed == 0, "{counts:?}");
    }
}

/// What a request under way is to change or to return.
enum Expected {
    Bytes(Vec<u8>),
    Nothing,
}

fn run_client(socket: &std::path::Path, number: u64, length: u64) {
    let mut client = Client::connect(socket);
    let (mut rng, begin) = (Rng::new(number), number * length);
    let mut array = vec![0u8; length as usize];
    let mut under_way: BTreeMap<u64, (std::ops::Range<u64>, Expected)> = BTreeMap::new();
    for id in 0..1200 {
        let at = rng.below(length / 512) * 512;
        let bytes = ((1 + rng.below(if id % 16 == 0 { 1024 } else { 16 })) * 512).min(length - at);
        let range = at..at + bytes;
        while under_way.len() >= 32 || under_way.values().any(|(other, _)| overlap(other, &range)) {
            let done = client.done();
            assert_eq!(done.result, Ok(()));
            if let (_, Expected::Bytes(expected)) = under_way.remove(&done.id).unwrap() {
                assert!(done.buffer.unwrap() == expected, "client {number}, request {}", done.id);
            }
        }
        let places = range.start as usize..range.end as usize;
        let (offset, length) = (begin + at, bytes as u32);
        let (command, buffer, expected) = match rng.below(10) {
            0..4 => {
                let expected = Expected::Bytes(array[places].to_vec());
                let command = Command::Read { offset, length, in_one_piece: id % 2 == 0 };
                (command, Some(vec![0; bytes as usize]), expected)
            }
            4..8 => {
                let data: Vec<u8> = (0..bytes).map(|byte| (byte + id) as u8).collect();
                array[places].copy_from_slice(&data);
                (Command::Write { offset, length, durable: id % 8 == 0 }, Some(data), Expected::Nothing)
            }
            8 => {
                array[places].fill(0);
                let no_hole = id % 2 == 0;
                let command =
                    Command::WriteZeroes { offset, length, durable: id % 4 == 0, no_hole, only_if_fast: false };
                (command, None, Expected::Nothing)
            }
            _ => (Command::Flush, None, Expected::Nothing),
        };
        client.submit(id, command, buffer);
        under_way.insert(id, (range, expected));
    }
    while let Some((id, (_, expected))) = under_way.pop_first() {
        let mut done = client.done();
        let expected = if done.id == id {
            expected
        } else {
            let other = under_way.remove(&done.id).unwrap().1;
            under_way.insert(id, (0..0, expected));
            other
        };
        if let Expected::Bytes(expected) = expected {
            assert!(done.buffer.take().unwrap() == expected, "client {number}");
        }
    }
    assert!(client.read(begin, length as u32).unwrap() == array, "client {number}");
}

fn overlap(one: &std::ops::Range<u64>, other: &std::ops::Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[test]
fn a_server_that_ends_answers_what_is_under_way_and_keeps_what_was_not_flushed() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    for number in 0..64u64 {
        let command = Command::Write { offset: number * 8192, length: 8192, durable: false };
        client.submit(number, command, Some(vec![number as u8 + 1; 8192]));
        if number == 40 {
            // The server has some of them now.
            assert_eq!(client.done().result, Ok(()));
            server.stop();
        }
    }
    let mut written = vec![];
    while let Some(done) = client.try_done() {
        match done.result {
            Ok(()) => written.push(done.id),
            Err(error) => assert_eq!(error, ErrorNumber::ShuttingDown),
        }
    }
    drop(server);
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    for number in written {
        assert_eq!(client.read(number * 8192, 8192).unwrap(), [number as u8 + 1; 8192], "{number}");
    }
}
