//! Bytes of anybody: no panic, and no more memory than promised.

use std::cell::LazyCell;

use allocation_counter::measure;
use esker_core::Rng;
use esker_nbd::{ClientSession, ServerSession};

use crate::common::Pieces;
use crate::common::hostile::{check_client, check_server, corpus, mutated, plan, settings};

const CASES: u64 = 3000;

/// What the harness itself takes: the input, what it sends, data that it makes.
const HARNESS: u64 = 700 << 10;

#[test]
fn whatever_a_client_sends_takes_no_more_than_promised() {
    let (clients, _) = corpus(8);
    let bound =
        (0..8).map(|number| ServerSession::<Vec<u8>, Pieces>::memory_bound(&settings(), &plan(number).exports()).0);
    let bound = bound.max().unwrap() + HARNESS;
    for case in 0..CASES * u64::from(esker_testkit::soak()) {
        let mut rng = Rng::derive(case, "client");
        let input = mutated(&clients[case as usize % 8], &mut rng);
        let taken = measure(|| {
            check_server(&input, case);
        });
        assert!(taken.bytes_max <= bound, "case {case}: {} bytes of {bound}", taken.bytes_max);
    }
}

#[test]
fn whatever_a_server_sends_takes_no_more_than_promised() {
    let (_, servers) = corpus(8);
    for case in 0..CASES * u64::from(esker_testkit::soak()) {
        let (number, mut rng) = (case % 8, Rng::derive(case, "server"));
        let input = mutated(&servers[number as usize], &mut rng);
        let settings = LazyCell::new(|| plan(number).client);
        let buffers = 12 * (128 << 10);
        let bound = ClientSession::<Vec<u8>, usize>::memory_bound(&settings).0 + buffers + HARNESS;
        let taken = measure(|| {
            check_client(&input, number, case);
        });
        assert!(taken.bytes_max <= bound, "case {case}: {} bytes of {bound}", taken.bytes_max);
    }
}

/// Without changes, the inputs are valid: mutations begin behind the handshake, too.
#[test]
fn valid_streams_open_the_export() {
    let (clients, servers) = corpus(8);
    for number in 0..8 {
        assert!(check_server(&clients[number as usize], number), "run {number}");
        assert!(check_client(&servers[number as usize], number, 1), "run {number}");
    }
}
