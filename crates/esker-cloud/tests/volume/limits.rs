//! Rules of size and order, and errors of settings.

use esker_cloud::{
    CloudError, CloudVolumeSettings, FineByteRate, OperationRate, ProvisionedSettings, limits, provisionable,
};
use esker_core::{ByteRate, Bytes, Hint, Nanos};

use crate::common::{constant, preset};

fn sized(name: &str, gib: u64) -> CloudVolumeSettings {
    CloudVolumeSettings { size: Some(Bytes::gib(gib)), ..preset(name) }
}

fn ordered(name: &str, gib: u64, operations: Option<u64>, mib: Option<u64>) -> CloudVolumeSettings {
    let provisioned = ProvisionedSettings {
        operations: operations.map(OperationRate::per_s),
        throughput: mib.map(|mib| ByteRate(mib << 20)),
    };
    CloudVolumeSettings { provisioned, ..sized(name, gib) }
}

#[track_caller]
fn refused(settings: &CloudVolumeSettings, key: &str, message: &str, hint: Option<&str>) {
    let error = limits(settings).unwrap_err();
    assert_eq!((error.key().as_str(), error.to_string().as_str()), (key, message));
    assert_eq!(error.hint().as_deref(), hint);
}

/// Operations and MiB (or MB) per second by size, as the providers' rules have them.
#[test]
fn limits_follow_the_size() {
    let mib = f64::from(1 << 20);
    for (name, gib, operations, bytes) in [
        ("aws-ebs-gp2", 1, 100.0, 128.0 * mib),
        ("aws-ebs-gp2", 100, 300.0, 128.0 * mib),
        ("aws-ebs-gp2", 170, 510.0, 128.0 * mib),
        ("aws-ebs-gp2", 171, 513.0, 250.0 * mib),
        ("aws-ebs-gp2", 5334, 16_000.0, 250.0 * mib),
        ("aws-ebs-gp3", 1, 3000.0, 125.0 * mib),
        ("aws-ebs-gp3-2023", 16_384, 3000.0, 125.0 * mib),
        ("aws-ebs-io2", 4, 3000.0, 750.0 * mib),
        ("aws-ebs-st1", 1024, 500.0, 40.0 * mib),
        ("aws-ebs-st1", 16_384, 500.0, 500.0 * mib),
        ("aws-ebs-sc1", 16_384, 250.0, 192.0 * mib),
        ("azure-premium-ssd", 1, 120.0, 25e6),
        ("azure-premium-ssd", 128, 500.0, 100e6),
        ("azure-premium-ssd", 129, 1100.0, 125e6),
        ("azure-premium-ssd", 32_767, 20_000.0, 900e6),
        ("azure-premium-ssd-v2", 1000, 3000.0, 125e6),
        ("azure-standard-ssd", 100, 500.0, 60.0 * mib),
        ("azure-standard-ssd", 8192, 2000.0, 400.0 * mib),
        ("gcp-pd-balanced", 100, 3600.0, 168.0 * mib),
        ("gcp-pd-balanced", 65_536, 80_000.0, 1200.0 * mib),
        ("gcp-pd-ssd", 100, 9000.0, 288.0 * mib),
        ("gcp-hyperdisk-balanced", 100, 3000.0, 140.0 * mib),
    ] {
        let limits = limits(&sized(name, gib)).unwrap();
        let found = (limits.operations.sustained_per_s(), limits.throughput.sustained_per_s());
        assert_eq!(found, (operations, bytes), "{name}, {gib} GiB");
    }
}

#[test]
fn bursts_follow_the_size() {
    let mib = f64::from(1 << 20);
    for (name, gib, peak) in [
        ("aws-ebs-st1", 512, 125.0 * mib),
        ("aws-ebs-st1", 1024, 250.0 * mib),
        ("aws-ebs-st1", 5120, 500.0 * mib),
        ("aws-ebs-sc1", 1024, 80.0 * mib),
        ("aws-ebs-sc1", 16_384, 250.0 * mib),
        ("azure-premium-ssd", 512, 170e6),
        ("azure-premium-ssd", 513, 200e6),
    ] {
        let limits = limits(&sized(name, gib)).unwrap();
        assert_eq!(limits.throughput.peak_per_s(), peak, "{name}, {gib} GiB");
    }
    // st1 of 12.5 TiB and more is always at its maximum.
    assert_eq!(limits(&sized("aws-ebs-st1", 12_800)).unwrap().throughput.burst, None);
    assert_eq!(limits(&sized("aws-ebs-st1", 2048)).unwrap().throughput.burst.unwrap().credits, 2 << 40);
}

#[test]
fn what_can_be_provisioned_follows_the_size() {
    let range = |name, gib| {
        provisionable(&sized(name, gib))
            .unwrap()
            .operations
            .map(|(least, most)| (least.as_thousandths() / 1000, most.as_thousandths() / 1000))
    };
    assert_eq!(range("aws-ebs-gp3", 1), Some((3000, 3000)));
    assert_eq!(range("aws-ebs-gp3", 8), Some((3000, 4000)));
    assert_eq!(range("aws-ebs-gp3", 160), Some((3000, 80_000)));
    assert_eq!(range("aws-ebs-gp3-2023", 160), Some((3000, 16_000)));
    assert_eq!(range("aws-ebs-io2", 4), Some((100, 4000)));
    assert_eq!(range("aws-ebs-io2", 65_536), Some((100, 256_000)));
    assert_eq!(range("azure-premium-ssd-v2", 6), Some((3000, 3000)));
    assert_eq!(range("azure-premium-ssd-v2", 160), Some((3000, 80_000)));
    for name in ["aws-ebs-gp2", "aws-ebs-st1", "azure-premium-ssd", "azure-standard-ssd", "gcp-pd-ssd"] {
        let nothing = provisionable(&preset(name)).unwrap();
        assert_eq!((nothing.operations, nothing.throughput), (None, None), "{name}");
    }
    let gp3 = provisionable(&sized("aws-ebs-gp3-2023", 100)).unwrap();
    let rate = |mib: u64| FineByteRate::from(ByteRate(mib << 20));
    assert_eq!(gp3.throughput, Some((rate(125), rate(1000))));
    assert_eq!(gp3.operations_for(ByteRate(125 << 20)), OperationRate::per_s(3000));
    assert_eq!(gp3.operations_for(ByteRate(1000 << 20)), OperationRate::per_s(4000));
    assert_eq!(provisionable(&preset("aws-ebs-io2")).unwrap().throughput, None, "it comes with the operations");
}

#[test]
fn orders_are_taken_as_far_as_they_are_sold() {
    let taken = |settings| {
        let limits = limits(&settings).unwrap();
        (limits.operations.sustained_per_s(), limits.throughput.sustained_per_s() / f64::from(1 << 20))
    };
    assert_eq!(taken(ordered("aws-ebs-gp3", 100, Some(50_000), None)), (50_000.0, 125.0));
    assert_eq!(taken(ordered("aws-ebs-gp3", 100, Some(8000), Some(2000))), (8000.0, 2000.0));
    assert_eq!(taken(ordered("aws-ebs-gp3", 100, None, Some(750))), (3000.0, 750.0));
    assert_eq!(taken(ordered("aws-ebs-io2", 100, Some(16_000), None)), (16_000.0, 4000.0));
    assert_eq!(taken(ordered("aws-ebs-io2", 100, Some(100), None)), (100.0, 25.0));
}

#[test]
fn what_is_not_sold_is_refused_with_what_is() {
    refused(
        &ordered("aws-ebs-gp3", 8, Some(9000), None),
        "provisioned.operations",
        "`provisioned.operations` is 9000/s, but a volume of 8GiB can have 3000/s to 4000/s",
        Some("a `size` of 18GiB or more allows it"),
    );
    refused(
        &ordered("aws-ebs-gp3", 100, Some(90_000), None),
        "provisioned.operations",
        "`provisioned.operations` is 90000/s, but a volume of 100GiB can have 3000/s to 50000/s",
        None,
    );
    refused(
        &ordered("aws-ebs-gp3", 100, None, Some(1000)),
        "provisioned.throughput",
        "`provisioned.throughput` is 1000MiB/s, but a volume of 100GiB can have 125MiB/s to 750MiB/s",
        Some("set `provisioned.operations` to 4000/s or more"),
    );
    refused(
        &ordered("aws-ebs-gp3", 100, None, Some(100)),
        "provisioned.throughput",
        "`provisioned.throughput` is 100MiB/s, but a volume of 100GiB can have 125MiB/s to 750MiB/s",
        None,
    );
    let error = limits(&ordered("aws-ebs-gp2", 100, Some(1000), None)).unwrap_err();
    assert_eq!(error, CloudError::NothingToProvision { what: "operations" });
    assert_eq!(error.key(), "provisioned.operations");
    assert_eq!(limits(&ordered("aws-ebs-io2", 100, None, Some(100))).unwrap_err().key(), "provisioned.throughput");
    refused(&sized("aws-ebs-st1", 100), "size", "`size` is 100GiB, but the type has sizes from 125GiB to 16TiB", None);
    refused(
        &sized("aws-ebs-gp3", 65_537),
        "size",
        "`size` is 65537GiB, but the type has sizes from 1GiB to 64TiB",
        None,
    );
}

#[test]
fn contradictions_name_their_keys() {
    let change = |change: fn(&mut CloudVolumeSettings)| {
        let mut settings = preset("aws-ebs-gp2");
        change(&mut settings);
        limits(&settings).unwrap_err().key()
    };
    assert_eq!(change(|settings| settings.queue_depth = 0), "queue_depth");
    assert_eq!(change(|settings| settings.size = Some(Bytes(511))), "size");
    assert_eq!(change(|settings| settings.latency.read.median = Nanos::ZERO), "latency.read.median");
    assert_eq!(change(|settings| settings.latency.write.p99 = Nanos(1)), "latency.write.p99");
    assert_eq!(change(|settings| settings.operations.unit = None), "operations.merge");
    assert_eq!(change(|settings| settings.saves_up = Nanos::from_secs(3_601)), "saves_up");
    let merged = |settings: &mut CloudVolumeSettings| {
        settings.latency.merged = Some(settings.latency.read);
        settings.operations.merge = false;
    };
    assert_eq!(change(merged), "latency.merged");
    assert_eq!(change(|settings| settings.operations.unit = Some(Bytes::ZERO)), "operations.unit");
    assert_eq!(change(|settings| settings.operations.min = Some(OperationRate::per_s(20_000))), "operations.min");
    assert_eq!(change(|settings| settings.host.throughput = Some(ByteRate(0))), "host.throughput");
    assert_eq!(change(|settings| settings.classes[1].size = Bytes::gib(1)), "classes[1].size");
    assert_eq!(change(|settings| settings.sizes.as_mut().unwrap().max = Bytes(1)), "sizes.min");
    let no_bucket = |settings: &mut CloudVolumeSettings| {
        settings.burst.as_mut().unwrap().operations.as_mut().unwrap().credits = None;
    };
    assert_eq!(change(no_bucket), "burst.operations");
    let mut nothing = constant("aws-ebs-gp3", 100, Nanos(1));
    nothing.operations.base = OperationRate::default();
    assert_eq!(limits(&nothing).unwrap_err().to_string(), "`operations` lets nothing through at this size");
    nothing.operations.base = OperationRate::thousandths(u64::MAX);
    nothing.operations.max = None;
    assert_eq!(limits(&nothing).unwrap_err().key(), "operations");
}
