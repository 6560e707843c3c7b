//! A server that is killed while clients write: what was flushed is there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker_core::Rng;
use nix::sys::signal::Signal;

use super::client::{Client, Failed};
use super::{Server, home};
use crate::support::esker_ok;

const BLOCKS: usize = 64;
const BLOCK: usize = 4096;
/// Blocks lie in different extents, and some share one.
const APART: u64 = 24 << 10;
const KILLS: u64 = 20;

/// What may be in a block: any write from the last one before a flush that was answered, to the last one that was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    answered: u64,
    flushed: u64,
    sent: u64,
}

/// The bytes of a block: in each sector the number of the write, and that of the block.
fn stamped(block: usize, write: u64) -> Vec<u8> {
    let stamp = [write.to_le_bytes(), (block as u64).to_le_bytes()].concat();
    stamp.repeat(BLOCK / stamp.len())
}

/// What was written, and what has to be there.
struct Written {
    blocks: [Block; BLOCKS],
    writes: u64,
    rng: Rng,
}

impl Written {
    /// Writes one block at random, and flushes now and then. Returns whether it flushed.
    fn write(&mut self, client: &mut Client) -> Result<bool, Failed> {
        self.writes += 1;
        let at = self.rng.below(BLOCKS as u64) as usize;
        self.blocks[at].sent = self.writes;
        client.write(at as u64 * APART, &stamped(at, self.writes))?;
        self.blocks[at].answered = self.writes;
        let flushes = self.rng.chance(1, 8);
        if flushes {
            client.flush()?;
            self.blocks.iter_mut().for_each(|block| block.flushed = block.answered);
        }
        Ok(flushes)
    }

    /// Writes until the server is gone. `has_flushed` tells when it is worth being killed.
    fn write_until_killed(&mut self, client: &mut Client, has_flushed: &AtomicBool) {
        let failed = loop {
            match self.write(client) {
                Ok(flushed) => has_flushed.fetch_or(flushed, Ordering::SeqCst),
                Err(failed) => break failed,
            };
        };
        // Also if something else has gone wrong, the other thread goes on.
        has_flushed.store(true, Ordering::SeqCst);
        assert_eq!(failed, Failed::Gone);
    }

    /// Checks what is there after this number of kills.
    fn check(&mut self, client: &mut Client, kills: u64) {
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let found = client.read(index as u64 * APART, BLOCK).unwrap();
            for (sector, bytes) in found.chunks(512).enumerate() {
                let write = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                let place = format!("after {kills} kills, block {index}, sector {sector}");
                let may_be = block.flushed..=block.sent;
                assert!(may_be.contains(&write), "{place}: write {write} is there, of {block:?}");
                let stamp = if write == 0 { vec![0; 512] } else { stamped(index, write)[..512].to_vec() };
                assert!(bytes == stamp, "{place}");
            }
            // What was not flushed may be there in part, so that a flush makes nothing more of it.
            block.answered = block.flushed;
        }
    }
}

#[test]
fn nothing_that_was_flushed_is_lost_when_a_server_is_killed() {
    let home = home();
    let mut written = Written { blocks: [Block::default(); BLOCKS], writes: 0, rng: Rng::new(1) };
    for kills in 0..KILLS {
        let io = if kills.is_multiple_of(2) { "best" } else { "threads" };
        let mut server = Server::start(home.path(), &["--io", io]);
        let mut client = server.client();
        written.check(&mut client, kills);
        let (has_flushed, wait) = (AtomicBool::new(false), Duration::from_micros(written.rng.below(30_000)));
        std::thread::scope(|scope| {
            scope.spawn(|| written.write_until_killed(&mut client, &has_flushed));
            while !has_flushed.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(wait);
            server.signal(Signal::SIGKILL);
        });
        server.ended();
    }
    let blocks = &written.blocks;
    assert!(written.writes > 10 * KILLS && blocks.iter().filter(|block| block.flushed > 0).count() > BLOCKS / 2);
    let server = Server::start(home.path(), &[]);
    written.check(&mut server.client(), KILLS);
    server.stop();
    let checked = esker_ok(home.path(), &["volume", "check", "home.volume"]).stdout;
    assert!(checked.contains("everything is there and whole"), "{checked}");
}
