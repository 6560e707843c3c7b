//! What a run does.

use esker_core::{Bytes, Rng};
use esker_nbd::{BlockSizes, ClientSettings, Command, Export, Exports, ServerSettings, TlsPolicy, TlsWish};

/// Bytes of the export.
pub(crate) const SIZE: u64 = 256 << 10;

/// A deliberate fault of the embedder, which comparing has to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Twin {
    /// None.
    #[default]
    Sound,
    /// Every third write is acknowledged, but not stored.
    LosesWrites,
    /// The first byte of a hole is not zero.
    LiesAboutHoles,
    /// A read returns what was there before the last write.
    ReadsOldData,
    /// A connection that is handed over loses a byte that was received.
    LosesByteAtTakeOver,
}

/// Settings of both sides, and the requests of the client.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) server: ServerSettings,
    pub(crate) client: ClientSettings,
    pub(crate) block_sizes: BlockSizes,
    pub(crate) commands: Vec<Command>,
    /// The client submits all requests as soon as it may.
    pub(crate) at_once: bool,
    /// The server's side is handed over now and then.
    pub(crate) takes_over: bool,
    pub(crate) twin: Twin,
}

impl Plan {
    pub(crate) fn random(seed: u64, requests: usize) -> Self {
        let mut rng = Rng::derive(seed, "plan");
        let minimum = [1, 512, 4096][rng.below(3) as usize];
        let structured = rng.chance(2, 3);
        let tls = rng.chance(1, 4);
        let server = ServerSettings {
            tls: if tls { TlsPolicy::Offered } else { TlsPolicy::None },
            requests_max: 1 + rng.below(8) as u32,
            bytes_max: Bytes(1 << (10 + rng.below(10))),
            ..ServerSettings::default()
        };
        let client = ClientSettings {
            tls: if tls { TlsWish::IfOffered } else { TlsWish::No },
            structured,
            block_status: rng.chance(2, 3),
            requests_max: 1 + rng.below(16) as u32,
            ..ClientSettings::open(["", "disk"][rng.below(2) as usize])
        };
        let has_status = structured && client.block_status;
        let commands = (0..requests).map(|_| command(u64::from(minimum), structured, has_status, &mut rng)).collect();
        let block_sizes = BlockSizes { minimum, preferred: 4096, maximum: 128 << 10 };
        let (takes_over, twin) = (rng.chance(1, 3), Twin::Sound);
        Self { seed, server, client, block_sizes, commands, at_once: false, takes_over, twin }
    }

    pub(crate) fn exports(&self) -> Exports {
        let disk = Export { block_sizes: self.block_sizes, ..Export::new("disk", Bytes(SIZE)) };
        let other = Export { is_read_only: true, ..Export::new("other", Bytes(SIZE)) };
        Exports::new(vec![other, disk], Some("disk")).expect("sound exports")
    }
}

/// A command that the client may send. Most are short; some are long enough for a buffer of their own.
fn command(unit: u64, structured: bool, has_status: bool, rng: &mut Rng) -> Command {
    let longest = if rng.chance(1, 6) { 128 << 10 } else { 3 * unit.max(300) };
    let length = unit * (1 + rng.below(longest / unit));
    let offset = unit * rng.below((SIZE - length) / unit + 1);
    let length = length as u32;
    let mut flip = || rng.chance(1, 3);
    let (durable, one) = (flip(), flip());
    match rng.below(if has_status { 12 } else { 11 }) {
        0..4 => Command::Read { offset, length, in_one_piece: structured && one },
        4..7 => Command::Write { offset, length, durable },
        7 => Command::Flush,
        8 => Command::Trim { offset, length, durable },
        9 => Command::Cache { offset, length },
        10 => Command::WriteZeroes { offset, length, durable, no_hole: one, only_if_fast: false },
        _ => Command::BlockStatus { offset, length, one_extent: one },
    }
}
