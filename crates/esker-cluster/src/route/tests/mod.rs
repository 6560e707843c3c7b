//! The router against servers that keep what they are told, and a map of versions that knows what they should have.

mod cases;
mod properties;
mod store;
mod world;
