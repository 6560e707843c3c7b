//! Every way to find the request of a completion, against a search of all requests in order.

use proptest::prelude::*;

use super::super::{Begin, Outlet, Pairing, Step};
use super::*;

/// The requests that were handed out, and how many completions belonged to none.
#[derive(Debug, Default, PartialEq)]
struct Out {
    found: Vec<(u64, u64, u64, Option<Nanos>)>,
    ignored: u64,
}

impl Outlet for Out {
    type Origin = u64;

    fn origin(&self) -> u64 {
        7
    }
    fn ignore(&mut self, _: &'static str, count: u64) {
        self.ignored += count;
    }
    fn hand_out(&mut self, found: Found, origin: u64) {
        assert_eq!(origin, 7);
        self.found.push((found.at.0, found.offset, found.length, found.response));
    }
}

fn pairing(index: Index) -> Pairing {
    let mut pairing = Pairing { begin: Begin::Dispatched, ..Pairing::default() };
    pairing.requests.known = matches!(index, Index::Counted(_));
    pairing.requests.index = index;
    pairing
}

/// Offset and length of requests and completions in units of 512 bytes. If `sound`, completions are of open requests.
fn pair(steps: &[(bool, u64, u64)], sound: bool, index: Index) -> (Out, u64, bool) {
    let mut pairing = pairing(index);
    let (mut out, mut open) = (Out::default(), Vec::new());
    for (time, &(completes, offset, length)) in steps.iter().enumerate() {
        let range = (512 * offset, 512 * length);
        // Of equal requests, picks the newest, while a reader takes the oldest; every third time, picks the oldest.
        let mut equal = open.iter().enumerate().filter(|(_, (known, _))| *known == range).map(|(index, _)| index);
        let known = if time % 3 == 0 { equal.next() } else { equal.next_back() };
        let (step, number) = match (completes, known) {
            (true, Some(known)) => (Step::Complete, Some(open.remove(known).1)),
            (true, None) if !sound => (Step::Complete, None),
            _ => {
                open.push((range, pairing.requests.next()));
                (Step::Dispatch, None)
            }
        };
        let (volume, operation) = (VolumeIndex(0), Operation::Write);
        let event = Event { at: Nanos(time as u64), step, volume, operation, offset: range.0, length: range.1 };
        match number {
            Some(number) if pairing.requests.known => pairing.end_known(number, &event, &mut out),
            _ => pairing.event(event, &mut out).unwrap(),
        }
    }
    let by_start = matches!(pairing.requests.index, Index::Starts(_));
    pairing.hand_out_rest(&mut out);
    (out, pairing.ambiguous, by_start)
}

proptest! {
    #[test]
    fn every_index_finds_what_the_others_find(
        steps in prop::collection::vec((any::<bool>(), 0..12u64, 1..4u64), 1..400),
        sound in any::<bool>(),
    ) {
        let expected = pair(&steps, sound, Index::Ordered(BTreeMap::new()));
        let found = pair(&steps, sound, Index::Unasked);
        prop_assert_eq!((&found.0, found.1), (&expected.0, expected.1));
        let completed = found.0.found.iter().any(|(.., response)| response.is_some());
        prop_assert!(!sound || !completed || found.2, "sound completions need no order");
        prop_assert_eq!(pair(&steps, sound, Index::counted()).0, expected.0);
    }
}
