//! Fleets: what they promise, and what balancers are worth.

mod alike;
mod coded;
mod drawn;
mod failures;
mod full;
mod members;
mod worth;

use esker_core::Bytes;
use esker_core::registry::Choice;
use esker_results::fleet::FleetRun;

use super::{CopySettings, FleetSettings, Simulation};

/// The balancer of this name with its defaults.
fn named(kind: &str) -> Choice {
    Choice::named(kind)
}

fn read(text: &str) -> FleetSettings {
    FleetSettings::read(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(settings: &FleetSettings, seed: u64, balancer: &str) -> FleetRun {
    Simulation::new(settings, seed, &named(balancer)).unwrap().run(|_| true).unwrap()
}

/// Fifty servers with room for 60 slices of 100 objects, which hold 40 on average; slices change places each week.
fn fifty(more: &str) -> String {
    format!(
        "[data]\nslices = 1000\nreplicas = 2\nobjects_per_slice = 100\nobject = \"1MiB\"\n\
         [[group]]\nname = \"a\"\ncount = 50\ncapacity = \"{}\"\n\
         drive_writes_per_day = 1\nlife_used = [\"0%\", \"50%\"]\n\
         [load]\nbytes_per_day = \"80GiB\"\nzipf = 0.8\nturnover = {{ every = \"7d\" }}\n{more}",
        Bytes::mib(7000)
    )
}
