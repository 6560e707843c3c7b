//! The page with the ranks.

use std::fmt::Write;

use super::{Measured, Mix};

pub(crate) const FILE: &str = "docs/cache-ranking.md";

const HEAD: &str = "# Policies of flash caches, ranked

<!-- Made from a run: `ESKER_SOAK=2 ESKER_UPDATE_DOCS=1 cargo test -p esker-sim --test it cache_ranking::`. -->

Which policy misses least, answers fastest, and writes the flash least? The answer depends on the workload, so measure
yours: [`esker cache`](caches.md) counts the misses of any policy on your trace in seconds, and this sweep, with your
trace in place of `[workload.synthetic]`, measures response times and wear as well:

```sh
esker sweep examples/cache-ranking.toml -o ranking
```

Its cache is 128 MiB of SLC flash in front of a disk of 15,000 rpm, for 1 GiB of data. It is write-back, and takes in
what is read and what is written. Addresses follow Zipf's law (exponent 0.9), and half of the requests go on where
the one before ended: 500,000 requests of 4 KiB, 100 a second, of which the first 200,000 warm the cache up. The three
mixes differ in their share of reads alone.

![A row for each policy, a column for each quantity, a dot for each mix](images/cache-ranking.svg)

- **Misses**: reads and writes of lines that the cache does not hold.
- **Regret**: by how many points that is more than with Belady's policy, which knows the future: no device can use it.
- **p99**: 99 of 100 requests took at most this long. Misses wait for the disk, as do writes that find no room.
- **Drive writes a day**: what the cache writes to the flash, lines that it fills and writes of the host, in capacities
  of the flash.
- **Rank**: the mean of a policy's places by misses, p99 and drive writes in the three mixes; 1 would be the first in
  everything.

Misses are the same in the three mixes, since addresses do not depend on what a request does. p99 does not follow them,
it follows how much the drive copies: its slowest requests wait for its cleaning, which has 9% of spare space. Policies
that weigh how often a line is used let lines leave in another order than that in which they came, so the drive's
blocks keep some valid pages each. With 70% reads, and with a drive that has 40% of spare space for about the same cache
(`blocks_per_plane = 12`, `factory_over_provisioning = \"40%\"` of `[device.flash]`):

| policy | misses | drive writes a page | p99 | misses, 40% | drive writes a page | p99 |
|---|--:|--:|--:|--:|--:|--:|
| `lfu` | 44.1 % | 4.26 | 22.8 ms | 43.4 % | 1.53 | 7.4 ms |
| `2q` | 45.4 % | 4.40 | 23.2 ms | 44.8 % | 1.38 | 7.1 ms |
| `fifo` | 52.6 % | 4.46 | 23.2 ms | 51.8 % | 1.00 | 6.8 ms |
| `s3-fifo` | 43.6 % | 4.58 | 23.6 ms | 43.0 % | 1.66 | 7.6 ms |
| `lru` | 48.9 % | 4.60 | 23.6 ms | 48.1 % | 1.08 | 6.5 ms |
| `arc` | 43.1 % | 5.77 | 25.7 ms | 42.7 % | 1.78 | 7.7 ms |
| `w-tinylfu` | 43.1 % | 6.29 | 25.8 ms | 42.5 % | 1.98 | 8.0 ms |
| `lirs` | 43.1 % | 6.42 | 25.8 ms | 42.5 % | 1.99 | 7.9 ms |
| `clock-pro` | 42.9 % | 6.42 | 25.8 ms | 42.2 % | 1.98 | 7.9 ms |
| `lhd` | 49.7 % | 6.48 | 25.9 ms | 48.8 % | 1.94 | 8.1 ms |

So spare space is worth more to the slowest requests than a point of hits; or, on the first drive, `fifo` with
[`slots = \"append-only\"`](flash-cache-device.md): it misses 53.1 %, the drive copies nothing, and p99 is 6.6 ms.

Differences of a few tenths of a point are no reason to choose: other seeds change the order.
";

/// The page, policies in the order of their ranks.
pub(crate) fn of(mixes: &[Mix]) -> String {
    let mut page = HEAD.to_string();
    let ranks = ranks(mixes);
    page += "\n| policy | rank |";
    let mut rule = "|---|--:|".to_string();
    for mix in mixes {
        write!(page, " {} reads: misses | regret | p99 | drive writes a day |", mix.reads).unwrap();
        rule += "--:|--:|--:|--:|";
    }
    writeln!(page, "\n{rule}").unwrap();
    for (index, rank) in ranks {
        write!(page, "| `{}` | {rank:.1} |", mixes[0].policies[index].0).unwrap();
        for mix in mixes {
            let Measured { miss_ratio, regret, p99_ms, drive_writes_per_day } = mix.policies[index].1;
            let (misses, regret) = (100.0 * miss_ratio, 100.0 * regret);
            write!(page, " {misses:.1} % | {regret:.1} | {p99_ms:.1} ms | {drive_writes_per_day:.1} |").unwrap();
        }
        page.push('\n');
    }
    page += "| Belady's | |";
    for mix in mixes {
        write!(page, " {:.1} % | | | |", 100.0 * mix.least).unwrap();
    }
    page + "\n"
}

/// Each policy's number and mean place, from the first to the last.
pub(crate) fn ranks(mixes: &[Mix]) -> Vec<(usize, f64)> {
    let count = mixes[0].policies.len();
    let mut sums = vec![0.0; count];
    for mix in mixes {
        for of in [Measured::misses, Measured::p99, Measured::writes] {
            for (sum, policy) in sums.iter_mut().zip(&mix.policies) {
                // Equals share a place.
                let better = mix.policies.iter().filter(|other| of(&other.1) < of(&policy.1)).count();
                let equal = mix.policies.iter().filter(|other| of(&other.1) == of(&policy.1)).count();
                *sum += better as f64 + (equal + 1) as f64 / 2.0;
            }
        }
    }
    let mut ranks: Vec<(usize, f64)> = sums.into_iter().map(|sum| sum / (3 * mixes.len()) as f64).enumerate().collect();
    ranks.sort_by(|one, other| one.1.total_cmp(&other.1));
    ranks
}

impl Measured {
    pub(crate) fn misses(&self) -> f64 {
        self.miss_ratio
    }

    pub(crate) fn p99(&self) -> f64 {
        self.p99_ms
    }

    pub(crate) fn writes(&self) -> f64 {
        self.drive_writes_per_day
    }
}
