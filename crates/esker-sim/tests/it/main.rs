//! All integration tests, in one program: linking one for each file would take longer than running it.

mod bounds;
mod cache_allocation;
mod cache_partition;
mod cache_ranking;
mod cloud;
mod events;
mod examples;
mod flash_cache;
mod host_managed_cache;
mod hybrid;
mod messages;
mod migration;
mod owned_flash;
mod placement_map;
mod presets;
mod priority;
mod processes;
mod reference;
mod run;
mod stated_bounds;
mod sweep;
mod throughput;
mod wardrop;
mod wardrop_published;
mod what_goes_wrong;
mod wu_devices;
