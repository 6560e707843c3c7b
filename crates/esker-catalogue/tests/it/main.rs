//! Tests of the public interface of this crate.

mod builtin;
mod costs;
mod csv;
mod documents;
mod mistakes;
mod mutated;
