//! `esker trace info` on traces that nobody meant: it ends by itself with 0, 1 or 2, never by a panic or a signal, and
//! never takes more than 64 MB. `ESKER_SOAK_TRACES` asks for more of them than usual, `ESKER_SOAK_SEED` for others.

#[path = "../../../esker-trace/tests/common/mutate.rs"]
mod mutate;

mod bombs;
mod runner;
mod traces;
