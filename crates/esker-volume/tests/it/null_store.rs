//! A store that moves no bytes: what is left is the work of the driver and of the engine.

use std::io::{self, IoSlice};

use esker_core::Bytes;
use esker_volume::BlockingBackend;

/// Takes everything and gives nothing.
#[derive(Debug)]
pub(super) struct NullStore(pub(super) Bytes);

impl BlockingBackend for NullStore {
    fn capacity(&self) -> Bytes {
        self.0
    }
    fn read(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Ok(())
    }
    fn write(&mut self, _: u64, _: &mut [IoSlice<'_>], _: bool) -> io::Result<()> {
        Ok(())
    }
    fn write_zeroes(&mut self, _: u64, _: u64, _: bool) -> io::Result<()> {
        Ok(())
    }
    fn trim(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
