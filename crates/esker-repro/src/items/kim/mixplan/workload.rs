//! The workloads of table 4.3.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(in crate::items::kim) struct Workload {
    pub(in crate::items::kim) name: &'static str,
    /// GB.
    pub(in crate::items::kim) hot: f64,
    pub(in crate::items::kim) cold: f64,
    /// KB/s: the 95th percentile of its seconds (section 4.5.2).
    pub(in crate::items::kim) bandwidth: f64,
    /// Mean size of a request, KB.
    pub(in crate::items::kim) request: f64,
    /// Share of reads, percent.
    pub(in crate::items::kim) reads: f64,
}

impl Workload {
    /// The same data with requests that arrive `factor` times as fast.
    pub(in crate::items::kim) fn times(mut self, factor: f64) -> Self {
        self.bandwidth *= factor;
        self
    }
}

const fn row(name: &'static str, gigabytes: [f64; 2], bandwidth: f64, request: f64, reads: f64) -> Workload {
    let [hot, cold] = gigabytes;
    Workload { name, hot, cold, bandwidth, request, reads }
}

/// The places of the workloads that are not of MSR.
pub(in crate::items::kim) const FINANCIAL: usize = 0;
pub(in crate::items::kim) const TPC_H: usize = 1;
/// Those of MSR begin here.
pub(in crate::items::kim) const MSR: usize = 2;

/// Table 4.3.
pub(in crate::items::kim) const WORKLOADS: [Workload; 15] = [
    row("Financial", [114.0, 2_649.0], 9_220.0, 3.42, 23.0),
    row("TPC-H", [87.0, 813.0], 16_050.0, 25.6, 80.0),
    row("/usr", [244.0, 1_115.0], 36.7, 45.6, 93.0),
    row("/proj", [193.0, 1_690.0], 30.3, 44.4, 91.0),
    row("/print", [46.0, 384.0], 2.1, 13.3, 9.0),
    row("/hm", [2.0, 37.0], 0.2, 7.9, 38.0),
    row("/resproj", [1.0, 79.0], 0.1, 8.9, 7.0),
    row("/proxy", [3.0, 85.0], 14.8, 11.8, 61.0),
    row("/src1", [124.0, 431.0], 22.5, 46.5, 95.0),
    row("/src2", [1.0, 100.0], 0.06, 6.62, 18.0),
    row("/webstg", [3.0, 105.0], 0.15, 8.55, 12.0),
    row("/term", [1.0, 21.0], 0.12, 10.05, 31.0),
    row("/websql", [60.0, 381.0], 9.0, 45.0, 94.0),
    row("/media", [13.0, 496.0], 0.13, 5.59, 57.0),
    row("/webdev", [1.0, 101.0], 0.08, 18.07, 20.0),
];
