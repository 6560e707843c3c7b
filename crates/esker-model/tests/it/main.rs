//! Tests of models through what the crate offers.

mod least_squares;
mod models;
