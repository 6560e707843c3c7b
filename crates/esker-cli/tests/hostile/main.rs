//! `esker trace info` on broken traces: it ends by itself with 0, 1 or 2, never by a panic or a signal, and never takes
//! more than 64 MB. `ESKER_SOAK_TRACES` sets the number of traces, `ESKER_SOAK_SEED` their seed.

#[path = "../../../esker-trace/tests/common/mutate.rs"]
mod mutate;

mod bombs;
mod runner;
mod traces;
