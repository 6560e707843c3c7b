//! The whole program, as a user runs it.

mod advice;
mod bad_input;
mod cache;
mod cache_by_volume;
mod convert;
mod counts;
mod devices;
mod flash_caches;
mod help;
mod mistakes;
mod mrc;
mod newcomers;
mod outputs;
mod printed_commands;
mod promises;
mod random_experiments;
mod reference;
mod reproduce;
mod serving;
mod sim;
mod study;
mod support;
mod terminal;
mod trace;
mod validate;
mod volume;
