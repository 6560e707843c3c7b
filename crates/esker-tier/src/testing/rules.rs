//! What one kind of engine adds to a test's world.

use esker_core::{DeviceError, Request, RequestKind};

use super::{Around, World};
use crate::engine::{Checkpoint, DataRef, Effect, Engine, Record};
use crate::extent::DeviceIndex;

/// How an engine is made, and what it promises beyond what every engine promises.
pub trait Rules: Sized {
    /// The engine.
    type Engine: Engine + 'static;

    /// Restores an engine from a checkpoint and the records that follow it.
    fn restore(&self, base: &Checkpoint, records: &[Record]) -> Self::Engine;

    /// Prepares an engine that was restored to serve the host.
    fn prepare(&self, engine: Self::Engine) -> Self::Engine {
        engine
    }

    /// Returns true if the host may be told `error` for a request that it sent at step `sent`.
    fn may_fail(around: &Around<Self>, request: &Request, sent: u64, error: DeviceError) -> bool;

    /// Checks a request that the engine sends to a device: nothing is written to a device that has failed.
    fn check_io(around: &Around<Self>, engine: &Self::Engine, device: DeviceIndex, request: &Request) {
        let _ = engine;
        let failed = around.journal.failed || around.device(device).told_failed;
        assert!(!failed || request.kind == RequestKind::Read, "sent to a failed device: {device:?}, {request:?}");
    }

    /// Checks that a record is true whatever survives a loss of power now.
    fn check_record(around: &Around<Self>, engine: &Self::Engine, record: Record) {
        let _ = (around, engine, record);
    }

    /// Performs an effect that only this kind of engine has.
    fn perform(around: &mut Around<Self>, effect: &Effect, engine: &Self::Engine) {
        let _ = (around, engine);
        panic!("unexpected: {effect:?}");
    }

    /// Returns the error of a device that refuses `request` for reasons of its own.
    fn refuse(
        around: &mut Around<Self>,
        device: DeviceIndex,
        request: &Request,
        data: Option<DataRef>,
    ) -> Option<DeviceError> {
        let _ = (around, device, request, data);
        None
    }

    /// Called when a device has performed `request`.
    fn performed(around: &mut Around<Self>, device: DeviceIndex, request: &Request) {
        let _ = (around, device, request);
    }

    /// Checks the world once everything has ended.
    fn check_at_rest(around: &mut Around<Self>) {
        let _ = around;
    }

    /// Called after a loss of power, before the host sends anything.
    fn restarted(world: &mut World<Self>) {
        let _ = world;
    }
}
