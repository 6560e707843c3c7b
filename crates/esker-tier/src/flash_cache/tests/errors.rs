//! Where the host's errors are.

use super::cases::{engine, host};
use super::*;

/// The host reads from the second sector of a line to the end of the next one. It is told where the error is in its own
/// request, whether its sectors or whole lines were read.
#[test]
fn an_error_says_where_it_is() {
    let request = Request::read(Lba(2 * LINE + 1), Bytes((2 * LINE - 1) * 512));
    for (role, write) in
        [(CacheRole::Write, WriteHandling::WriteThrough), (CacheRole::Read, WriteHandling::WriteAround)]
    {
        let mut engine = engine(role, write);
        let mut effects = Vec::new();
        engine.on(Nanos::ZERO, host(request), &mut effects);
        let bad = (3 * LINE + 1) * 512;
        let (mut next, mut told) = (0, None);
        while next < effects.len() {
            match effects[next] {
                Effect::Io { io, request, .. } => {
                    let is_hit = (request.start.byte_offset()..request.end_byte()).contains(&bad);
                    let at = Bytes(bad.saturating_sub(request.start.byte_offset()));
                    let result = if is_hit { Err(DeviceError::Medium { at }) } else { Ok(()) };
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
                }
                Effect::Reply { result, .. } => told = Some(result),
                _ => {}
            }
            next += 1;
        }
        assert_eq!(told, Some(Err(DeviceError::Medium { at: Bytes(LINE * 512) })), "{role:?}");
    }
}
