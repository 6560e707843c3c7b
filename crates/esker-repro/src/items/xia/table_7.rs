//! Xia 2017, table 7: how long pages of each mode take on an idle drive.

use esker_core::{Bytes, Control, Device, Lba, Nanos, Precondition, Ratio, Request, Tag};
use esker_flash::Ssd;

use super::volumes::VolumeScale;
use super::write_modes::{Scheme, settings};
use crate::drive::FLASH;
use crate::{Claim, Context, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-7",
    title: "Latencies of the write modes",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.1, table 7",
    sections: &["5.4.1"],
    run,
};

/// A drive whose pages were written once, on which one request after the other is served.
struct Idle {
    ssd: Ssd,
    now: Nanos,
}

impl Idle {
    fn new(item: &Item, scheme: Scheme, seed: u64) -> Result<Self, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(item, fault);
        let settings = settings(1, scheme, VolumeScale::SWEPT);
        let ssd = Ssd::new(FLASH, &settings, seed).map_err(|fault| error(ItemFault::Cache(fault.into())));
        let mut ssd = ssd?;
        let filled = Precondition::Filled { utilisation: Ratio::ONE };
        ssd.control(Nanos::ZERO, Control::Precondition(filled)).map_err(|fault| error(fault.into()))?;
        Ok(Self { ssd, now: Nanos::ZERO })
    }

    /// Returns the response time of a request of one page, without the transfer of the page, us.
    fn cells_us(&mut self, request: Request) -> f64 {
        let start = self.now + Nanos::from_secs(1);
        self.ssd.submit(start, Tag::new(0, 0), request);
        let mut done = Vec::new();
        while self.ssd.next_event() != Nanos::NEVER {
            self.ssd.advance(self.ssd.next_event(), &mut done);
        }
        self.now = start;
        let geometry = self.ssd.geometry();
        let transfer = geometry.raw_page_size().0 as f64 / 200.0;
        done.iter().map(|done| (done.at - start).0 as f64 / 1e3 - transfer).sum()
    }
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let (read, write) = (Request::read(Lba(0), Bytes::kib(8)), Request::write(Lba(0), Bytes::kib(8)));
    let mut normal = Idle::new(item, Scheme::Normal, context.seed)?;
    let mut own = Idle::new(item, Scheme::CHOSEN, context.seed)?;
    let mut agcr = Idle::new(item, Scheme::Agcr, context.seed)?;
    let mut claims = Vec::new();
    let mut claim = |name: &str, published: f64, measured: f64| {
        let claim = format!("{name}, us, without the transfer");
        let claim = Claim::within(item.name, &claim, published, measured, 1e-6, "latencies of the preset");
        claims.push(claim.by_construction("the drive is given it"));
    };
    claim("BCH read, of a page in the normal mode", 45.0, normal.cells_us(read));
    claim("medium write, of a page in the normal mode", 1300.0, normal.cells_us(write));
    claim("fast write, of a page that is only written", 650.0, own.cells_us(write));
    claim("slow LDPC read, of that page", 145.0, own.cells_us(read));
    claim("medium LDPC read, of a page of AGCR's that was there at the start", 110.0, agcr.cells_us(read));
    claim("medium write of AGCR, of that page", 1300.0, agcr.cells_us(write));
    let reason = "AGCR programs pages at high cost when cleaning copies them, for which no request waits alone";
    claims.push(Claim::unreachable(item.name, "fast LDPC read, us", Some(75.0), reason));
    claims.push(Claim::unreachable(item.name, "slow write, us", Some(2600.0), reason));
    let reason = "erases are never waited for alone";
    claims.push(Claim::unreachable(item.name, "erase, us", Some(3800.0), reason));
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_drive_has_the_latencies_of_the_table() {
        let outcome = super::super::tests::outcome(|context| run(&ITEM, context));
        let derived = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((outcome.claims.len(), derived), (9, 6), "{:#?}", outcome.claims);
    }
}
