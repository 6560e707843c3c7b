use esker_core::{Bytes, DeviceState, Lba, Request, RequestKind};
use esker_tier::PolicySettings;

use super::*;
use crate::PUBLISHED_PLACEMENTS;

const ROOM: DeviceView = DeviceView {
    extents: 9,
    free_extents: 9,
    state: DeviceState::Online,
    drained: false,
    is_held: false,
    under_way: 0,
};

fn policy(table: &str, weights: &[u32]) -> WardropPublished {
    WardropPublished::new(serde_json::from_str(table).unwrap(), weights)
}

/// Reports a read of `extent` by the host, which `device` ended after `micros`. Returns the wishes of the policy.
fn read(policy: &mut WardropPublished, extent: u32, device: u16, micros: u64) -> Wishes {
    let mut wishes = Wishes::default();
    let (first, device) = (LogicalExtent(extent), DeviceIndex(device));
    let request = Request::read(Lba(0), Bytes(4096));
    policy.observe(Nanos::ZERO, &Event::Request { request: &request, first, extents: 1 }, &[ROOM; 3], &mut wishes);
    let done = Completed {
        device,
        first,
        extents: 1,
        kind: RequestKind::Read,
        length: Bytes(4096),
        sent: Nanos::ZERO,
        at: Nanos::from_micros(micros),
        for_host: true,
        ok: true,
    };
    policy.observe(done.at, &Event::Completed(done), &[ROOM; 3], &mut wishes);
    wishes
}

/// Returns the policy's wishes at the end of the first period.
fn at_the_end(policy: &mut WardropPublished) -> Wishes {
    let mut wishes = Wishes::default();
    policy.observe(Nanos::from_secs(1), &Event::Timer, &[ROOM; 3], &mut wishes);
    wishes
}

fn place(policy: &mut WardropPublished, devices: usize) -> u16 {
    let write = Request::write(Lba(0), Bytes(4096));
    let new = NewExtent { extent: LogicalExtent(0), start: Bytes(0), write: Some(&write) };
    policy.place(&new, &vec![ROOM; devices]).0
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let far = found.iter().zip(expected).any(|(one, other)| (one - other).abs() > 1e-9);
    assert!(found.len() == expected.len() && !far, "{found:?} is not {expected:?}");
}

#[test]
fn equation_3_1() {
    // R = 0.5 ms; the second device loses 10/ms x 0.01 ms of its half.
    near(&shares(&[(0.5, 0.49), (0.5, 0.51)], 10.0, 0.01), &[0.55, 0.45]);
    // R = 0.25 x 0.3 + 0.75 x 0.26 = 0.27 ms.
    near(&shares(&[(0.25, 0.30), (0.75, 0.26)], 10.0, 0.01), &[0.175, 0.825]);
    // R = 0.32 ms.
    near(&shares(&[(0.5, 0.3), (0.3, 0.32), (0.2, 0.37)], 10.0, 0.01), &[0.6, 0.3, 0.1]);
    near(&shares(&[(0.7, 0.4), (0.3, 0.4)], 10.0, 0.01), &[0.7, 0.3]);
}

/// A change of a fifth of a millisecond exceeds the whole share.
#[test]
fn no_share_is_zero() {
    near(&shares(&[(0.5, 0.3), (0.5, 0.7)], 10.0, 0.01), &[1.5 / 1.51, 0.01 / 1.51]);
    near(&shares(&[(1.0, 0.3), (0.0, 0.0)], 10.0, 0.01), &[1.0 / 1.01, 0.01 / 1.01]);
    near(&shares(&[(1.0, 0.3), (0.0, 0.0)], 10.0, 0.5), &[1.0 / 1.5, 0.5 / 1.5]);
    near(&shares(&[(0.0, 0.0); 4], 10.0, 0.5), &[0.25; 4]);
}

/// Four reads on each device, of 490 and 510 us: shares 0.55 and 0.45, five tokens.
fn with_five_tokens() -> WardropPublished {
    let mut policy = policy("{}", &[1, 1]);
    (0..4).for_each(|_| drop((read(&mut policy, 7, 0, 490), read(&mut policy, 8, 1, 510))));
    policy
}

#[test]
fn new_extents_spend_tokens_and_then_follow_the_shares() {
    let mut policy = with_five_tokens();
    // After a period with this many new extents, moves get all the tokens.
    policy.allocated = 5;
    assert_eq!(at_the_end(&mut policy).moves, []);
    let placed: Vec<u16> = (0..105).map(|_| place(&mut policy, 2)).collect();
    assert_eq!(placed[..5], [0; 5]);
    assert_eq!(placed[5..].iter().filter(|&&device| device == 0).count(), 55);
}

#[test]
fn moves_spend_what_new_extents_leave_one_at_a_time() {
    let mut policy = with_five_tokens();
    policy.allocated = 3;
    (20..30).for_each(|extent| drop(read(&mut policy, extent, 1, 510)));
    (30..36).for_each(|extent| drop(read(&mut policy, extent, 0, 490)));
    // 10 requests of 24 on the first device, R = 501.7 us: P - Q = 0.0486.
    let mut wishes = at_the_end(&mut policy);
    let mut moved = Vec::new();
    while let [WishedMove { extent, to, .. }] = wishes.moves[..] {
        assert_eq!(to, DeviceIndex(0));
        moved.push(extent.0);
        // It is used on the device where it still is.
        assert_eq!(read(&mut policy, extent.0, 1, 510).moves, []);
        wishes = Wishes::default();
        let ended = Event::Moved { extent, outcome: MoveOutcome::Done };
        policy.observe(Nanos::from_secs(1), &ended, &[ROOM; 2], &mut wishes);
    }
    // The most recently used extents on the slower device.
    assert_eq!(moved, [29, 28]);
    assert_eq!(policy.loads[0].tokens, 3);
    assert_eq!(policy.tokens, TokenReport { granted: 5, moves: 2, ..TokenReport::default() });
}

#[test]
fn a_write_that_replaces_an_extent_spends_a_token_too() {
    let mut policy = with_five_tokens();
    drop(at_the_end(&mut policy));
    let write = Request::write(Lba(0), Bytes::kib(128));
    let mut redirect = |from: u16| {
        let rewrite = Rewrite { extent: LogicalExtent(3), from: DeviceIndex(from), write: &write, rest: Bytes::ZERO };
        policy.redirect(&rewrite, &[ROOM; 2]).map(|device| device.0)
    };
    assert_eq!(redirect(0), None);
    // The move took one token.
    assert_eq!([(); 5].map(|()| redirect(1)), [Some(0), Some(0), Some(0), Some(0), None]);
    assert_eq!(policy.tokens, TokenReport { granted: 5, moves: 1, redirects: 4, ..TokenReport::default() });
}

/// A period without requests grants no tokens, and takes none back.
#[test]
fn tokens_that_are_left_lapse_when_there_are_new_ones() {
    let mut policy = with_five_tokens();
    let end = |policy: &mut WardropPublished| {
        // After a period with this many new extents, moves get all the tokens.
        policy.allocated = 5;
        policy.timer = Some(Nanos::ZERO);
        assert_eq!(at_the_end(policy).moves, []);
    };
    end(&mut policy);
    assert_eq!([(); 2].map(|()| place(&mut policy, 2)), [0; 2]);
    end(&mut policy);
    assert_eq!(policy.tokens, TokenReport { granted: 5, new_extents: 2, ..TokenReport::default() });
    (0..4).for_each(|_| drop((read(&mut policy, 7, 0, 490), read(&mut policy, 8, 1, 510))));
    end(&mut policy);
    assert_eq!(policy.tokens, TokenReport { granted: 10, new_extents: 2, lapsed: 3, ..TokenReport::default() });
}

#[test]
fn a_device_that_joins_gets_the_least_share_and_a_token() {
    let mut policy = policy(r#"{"least":"2%"}"#, &[3, 1]);
    policy.devices_joined(3);
    let shares: Vec<f64> = policy.loads.iter().map(|load| load.share).collect();
    near(&shares, &[0.75 / 1.02, 0.25 / 1.02, 0.02 / 1.02]);
    (0..4).for_each(|_| drop((read(&mut policy, 7, 0, 500), read(&mut policy, 8, 1, 500))));
    // The other two devices give a little.
    assert_eq!(at_the_end(&mut policy).moves, [WishedMove::in_background(LogicalExtent(8), DeviceIndex(2))]);
    assert_eq!(policy.loads.iter().map(|load| load.tokens).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn settings_are_checked() {
    for (table, message) in [
        (r#"{"period":"0s"}"#, "period: `period` is 0; shares are computed once in some time"),
        (r#"{"least":"0%"}"#, "least: `least` is 0%; it has to be 0.1% to 50%"),
        (r#"{"alpha":-1}"#, "alpha: `alpha` is -1; it has to be 0 to 1e9"),
        (r#"{"recent":0}"#, "recent: `recent` is 0; it has to be 1 to 10000"),
    ] {
        let options = serde_json::from_str(table).unwrap();
        let settings = PolicySettings::new("wardrop-published", options);
        assert_eq!(settings.build(PUBLISHED_PLACEMENTS, 2).unwrap_err().to_string(), message);
    }
}
