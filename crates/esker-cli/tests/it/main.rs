//! The whole program, as a user runs it.

mod bad_input;
mod convert;
mod help;
mod reference;
mod reproduce;
mod sim;
mod study;
mod support;
mod trace;
