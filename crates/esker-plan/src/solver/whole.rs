//! Puts classes that are shared out on one type each where there is room: such a plan is easier to carry out.

use super::model::Model;

/// Moves each class, small ones first, to one of the types that hold a share of it, if all of it fits there.
pub(super) fn make_whole(model: &Model, counts: &[u32], shares: &mut [Vec<f64>]) {
    let mut used: Vec<Vec<f64>> = model.types.iter().map(|one| vec![0.0; one.rows]).collect();
    for (class, shares) in shares.iter().enumerate() {
        for ((used, one), share) in used.iter_mut().zip(&model.types).zip(shares) {
            add(used, one.loads_of(class), *share);
        }
    }
    let size = |class: usize| {
        let needs = model.types.iter().enumerate().map(|(at, one)| {
            let most = one.loads_of(class).iter().fold(one.caps[class], |most, &load| most.max(load));
            most / f64::from(counts[at]).max(1.0)
        });
        needs.fold(0.0, f64::max)
    };
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| size(a).total_cmp(&size(b)).then(a.cmp(&b)));
    for class in order {
        let mut held: Vec<usize> = (0..model.types.len()).filter(|&at| shares[class][at] > 0.0).collect();
        held.sort_by(|&a, &b| shares[class][b].total_cmp(&shares[class][a]).then(a.cmp(&b)));
        let fits = |at: &usize| {
            let (one, count) = (&model.types[*at], f64::from(counts[*at]));
            let more = 1.0 - shares[class][*at];
            let loads = used[*at].iter().zip(one.loads_of(class));
            one.caps[class] <= count && loads.into_iter().all(|(used, load)| used + more * load <= count)
        };
        if held.len() < 2 {
            continue;
        }
        let Some(target) = held.iter().copied().find(fits) else { continue };
        for at in held {
            let share = std::mem::take(&mut shares[class][at]);
            let change = if at == target { 1.0 - share } else { -share };
            add(&mut used[at], model.types[at].loads_of(class), change);
        }
        shares[class][target] = 1.0;
    }
}

fn add(used: &mut [f64], loads: &[f64], share: f64) {
    for (used, load) in used.iter_mut().zip(loads) {
        *used += share * load;
    }
}
