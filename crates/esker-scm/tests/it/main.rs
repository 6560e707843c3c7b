//! SCMFS against a reference model, and through losses of power.

mod ace;
mod cleaner;
mod compare;
mod crash;
mod damage;
mod drive;
mod exerciser;
mod fragments;
mod full;
mod host;
mod killed;
mod long;
mod model;
mod operation;
mod permissions;
mod random;
mod shared;
mod sparse;
mod threads;
mod wear;
