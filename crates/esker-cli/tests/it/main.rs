//! The whole program, as a user runs it.

mod bad_input;
mod help;
mod mrc;
mod reference;
mod reproduce;
mod sim;
mod study;
mod support;
mod trace;
