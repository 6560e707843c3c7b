//! Measures a disk from outside, by reads alone, and makes a preset of the results.
//!
//! The measurement is a state machine without I/O or clock. It asks for a read and is told when that read began and
//! ended ([`Measurement`]). So it measures real and simulated disks alike.
//!
//! Everything rests on one fact: a sector passes under the head at a fixed angle. So when a read of it has ended, the
//! time modulo one turn shows where on the platters it lies. Worthington et al. 1995 and Schindler and Ganger 1999 use
//! this for SCSI disks, which can also report where their sectors are; here it is the only source.
//!
//! | stage | how |
//! |---|---|
//! | `buffer` | how many reads elsewhere make the disk forget a sector; that many lie between any two reads of a place
//! |
//! | `turn` | the same sector always comes after whole turns |
//! | `track` | angles grow evenly along a track and jump where it ends; ends are found by halving |
//! | `zones` | tracks measured all over the disk, then where they differ |
//! | `layout` | the order of surfaces and cylinders, from how skews repeat |
//! | `curve`, `seeks` | the earliest sector of a far track that the head reaches in time |
//! | `found` | settings of all that, and sentences on what was not found |

mod bench;
mod buffer;
mod curve;
mod desk;
mod error;
mod found;
mod layout;
mod measurement;
mod seeks;
mod simulated;
mod track;
mod turn;
mod zones;

use std::rc::Rc;

use esker_core::Bytes;

use self::bench::{Bench, median};
pub use self::desk::{MeasureProgress, ProbeRead, ReadTimes};
pub use self::error::MeasureError;
use self::found::Findings;
pub use self::found::Measured;
pub use self::measurement::{MeasureStep, Measurement};
pub use self::simulated::SimulatedReads;

/// The smallest disk that can be measured, since reads have to be far from each other.
const LEAST: Bytes = Bytes::mib(64);
/// No arm and platter are this fast on average, in nanoseconds.
const FASTEST_NS: f64 = 1.2e6;

/// Begins to measure a disk of `capacity`, which can only be read in whole blocks of `block` bytes.
///
/// # Errors
/// The disk is too small. All other errors come at the end of the measurement.
pub fn measure(capacity: Bytes, block: Bytes) -> Result<Measurement, MeasureError> {
    if capacity < LEAST {
        return Err(MeasureError::TooSmall { capacity, least: LEAST });
    }
    let block = block.0.div_ceil(Bytes::SECTOR.0).max(1);
    let sectors = capacity.0 / Bytes::SECTOR.0 / block * block;
    let desk = Rc::default();
    let bench = Bench::new(Rc::clone(&desk), sectors, block);
    Ok(Measurement::new(desk, Box::pin(work(bench))))
}

/// Runs the stages one after another.
async fn work(bench: Bench) -> Result<Measured, MeasureError> {
    bench.begin("the buffer", 0, 0);
    let mut far = Vec::new();
    for _ in 0..25 {
        far.push(bench.response(bench.fresh()).await);
    }
    let usual = median(&mut far);
    if usual < FASTEST_NS {
        return Err(MeasureError::NoArm { micros: (usual / 1e3) as u64 });
    }
    // A seek and half a turn take over three times as long as a read from the buffer.
    let buffer = buffer::find(&bench, 0.3 * usual).await?;
    bench.hit_ns.set(buffer.map_or(0.0, |buffer| buffer.hit_ns));
    let (for_zones, for_layout, for_seeks) = (zones::reads(&bench), layout::reads(16), curve::reads(&bench));
    let for_turn = 5 * zones::places(&bench);
    bench.begin("the turn", for_turn, for_zones + for_layout + for_seeks);
    bench.turn_ns.set(turn::find(&bench, zones::places(&bench)).await?);
    bench.begin("zones", for_zones, for_layout + for_seeks);
    let zones = zones::find(&bench).await?;
    bench.begin("the order of tracks", for_layout, for_seeks);
    let layout = layout::find(&bench, &zones).await;
    bench.begin("seek times", for_seeks, 0);
    let seeks = curve::find(&bench, &zones, &layout, buffer.map(|buffer| buffer.hit_ns)).await;
    if seeks.points.is_empty() {
        return Err(MeasureError::Unsteady { what: "seek times" });
    }
    let findings = Findings {
        sectors: bench.sectors,
        block: bench.block,
        turn_ns: bench.turn_ns.get(),
        buffer,
        zones: &zones,
        layout: &layout,
        seeks: &seeks,
    };
    Ok(findings.measured()?)
}
