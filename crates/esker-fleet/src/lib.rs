//! Fleets of servers with flash: simulated by counts, and advice for those that run already ([`advice`]).
//!
//! A fleet file ([`FleetSettings`]) says which servers there are, what is stored and written, and what happens to the
//! servers. [`Simulation`] counts pages for each slice and epoch instead of requests, so that years of thousands of
//! servers take minutes: slices lie where `esker-cluster`'s ring puts them, its balancers are asked at the end of each
//! epoch, and what they move follows the rules of its router, with copies limited in rate. docs/cluster.md says what is
//! counted and what is left out.
//!
//! ```
//! use esker_fleet::{FleetSettings, Simulation};
//!
//! let text = r#"
//!     [data]
//!     slices = 500
//!     [[group]]
//!     name = "old"
//!     count = 10
//!     capacity = "100GB"
//!     drive_writes_per_day = 1
//!     life_used = ["0%", "80%"]
//!     [load]
//!     bytes_per_day = "500GB"
//!     zipf = 0.9
//!     [run]
//!     duration = "30d"
//! "#;
//! let settings = FleetSettings::read(text, "fleet.toml", &[]).unwrap();
//! let run = Simulation::new(&settings, 1, &settings.balancers[0]).unwrap().run(|_| true).unwrap();
//! assert_eq!((run.balancer.as_str(), run.epochs, run.counts.worn_out), ("life", 30, 0));
//! ```

pub mod advice;
pub mod calibration;
mod fleet;

pub use fleet::{
    CopySettings, DataSettings, ErasureCodeSettings, EventKind, EventSettings, FailureSettings, FleetError,
    FleetSettings, GroupSettings, LoadSettings, ReplacementSettings, RequestSettings, RunSettings, RunUntil,
    Simulation, TurnoverSettings,
};
