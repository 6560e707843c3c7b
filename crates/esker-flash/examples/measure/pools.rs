//! How pools and write frontiers change write amplification: the table of docs/flash-model.md.

use esker_core::{Control, Device, Nanos, Precondition, Ratio};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_ftl::WriteFrontiers;
use esker_nand::PoolScope;
use esker_results::Report;

/// Write amplification of greedy cleaning in one pool with 64 pages per block and 15 % spare:
/// tests/write_amplification.rs.
const THEORY: f64 = 3.3536;

#[expect(clippy::print_stdout, reason = "it prints a table")]
pub(crate) fn run() {
    println!("| pool | pools | blocks of a pool | frontiers of a pool | write amplification | against one pool |");
    println!("|---|---|---|---|---|---|");
    let scopes = [
        ("device", PoolScope::Device),
        ("package", PoolScope::Package),
        ("die", PoolScope::Die),
        ("plane", PoolScope::Plane),
    ];
    for blocks_per_plane in [2048, 256, 64] {
        for (name, pool) in scopes {
            for write_frontiers in [WriteFrontiers::Pool, WriteFrontiers::Die] {
                let single = write_frontiers == WriteFrontiers::Pool;
                if !single && matches!(pool, PoolScope::Die | PoolScope::Plane) {
                    continue; // The same.
                }
                let mut settings: SsdSettings = toml::from_str(PRESETS[0].toml).expect("presets are well-formed");
                settings.geometry.blocks_per_plane = blocks_per_plane;
                settings.spare_factor = Some(Ratio::percent(15));
                settings.pool = pool;
                settings.write_frontiers = write_frontiers;
                let mut ssd = Ssd::new("flash", &settings, 1).expect("the settings work");
                let condition = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
                ssd.control(Nanos::ZERO, Control::Precondition(condition)).expect("drives can be preconditioned");
                let report = Report::of(&ssd);
                let flash = report.devices["flash"].flash.as_ref().expect("it is a drive");
                let measured = flash.precondition.expect("it was preconditioned").write_amplification;
                let space = ssd.space();
                println!(
                    "| {name} | {} | {} | {} | {measured:.4} | {:+.2} % |",
                    space.pools,
                    space.blocks_per_pool,
                    space.frontiers,
                    (measured / THEORY - 1.0) * 100.0
                );
            }
        }
    }
}
