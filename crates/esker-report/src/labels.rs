//! Places names beside marks of a picture, so that they do not lie upon each other.

use crate::bars::Tick;

/// A name beside a mark.
#[derive(Debug)]
pub(crate) struct Label {
    /// The place of the mark, in per cent.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// From there, in pixels.
    pub(crate) right: i32,
    pub(crate) down: i32,
    /// Which end of the name is there.
    pub(crate) anchor: &'static str,
    pub(crate) text: String,
}

/// A picture as wide and as high as this, in pixels, is assumed: that of a phone. In a wider one there is more room.
const FIELD: (f64, f64) = (300.0, 340.0);

/// Left, right, upper and lower edge, in pixels.
type Edges = (f64, f64, f64, f64);

/// Names marks, each given by its place in per cent. Each name takes the first place around its mark where it lies on
/// no name before it, on no named mark, and not on the name of the budget's line.
pub(crate) fn place(marks: &[(f64, f64, &str)], budget: Option<&Tick>) -> Vec<Label> {
    let (width, height) = FIELD;
    let long = |text: &str| 7.0 * text.chars().count() as f64;
    let mut taken: Vec<Edges> = Vec::new();
    for (x, y, _) in marks {
        let (x, y) = (x / 100.0 * width, y / 100.0 * height);
        taken.push((x - 10.0, x + 10.0, y - 10.0, y + 10.0));
    }
    taken.extend(budget.map(|budget| {
        let (long, y) = (long(&budget.label), budget.at / 100.0 * height);
        let from = if budget.anchor == "end" { width - long } else { 0.0 };
        (from, from + long, y - 15.0, y)
    }));
    let mut labels = Vec::new();
    for &(x, y, text) in marks {
        let places = [("start", 13, -9), ("start", 13, 20), ("end", -13, -9), ("end", -13, 20)].map(|place| {
            let (anchor, right, down) = place;
            let (at, base) = (x / 100.0 * width + f64::from(right), y / 100.0 * height + f64::from(down));
            let from = if anchor == "start" { at } else { at - long(text) };
            (place, (from, from + long(text), base - 10.0, base + 2.0))
        });
        let (place, edges) = places.iter().find(|(_, edges)| is_free(*edges, &taken)).unwrap_or(&places[0]);
        let (anchor, right, down) = *place;
        taken.push(*edges);
        labels.push(Label { x, y, right, down, anchor, text: text.to_string() });
    }
    labels
}

/// Whether a name is inside the picture, and on nothing else.
fn is_free((left, right, top, bottom): Edges, taken: &[Edges]) -> bool {
    let apart = |one: &Edges| one.1 < left || right < one.0 || one.3 < top || bottom < one.2;
    left >= 0.0 && right <= FIELD.0 && top >= 0.0 && bottom <= FIELD.1 && taken.iter().all(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lie_upon_each_other_nor_outside() {
        let sides = |labels: &[Label]| labels.iter().map(|label| (label.anchor, label.down)).collect::<Vec<_>>();
        let alone = place(&[(50.0, 50.0, "AWS")], None);
        assert_eq!(sides(&alone), [("start", -9)]);
        let close = place(&[(50.0, 50.0, "AWS"), (51.0, 50.0, "Azure"), (50.0, 51.0, "Google Cloud")], None);
        assert_eq!(sides(&close), [("end", -9), ("start", -9), ("start", 20)]);
        let corners = place(&[(99.0, 1.0, "recommended"), (1.0, 99.0, "nearest")], None);
        assert_eq!(sides(&corners), [("end", 20), ("start", -9)]);
        let budget = Tick { at: 48.0, label: "budget: 1 ms".into(), anchor: "end" };
        assert_eq!(sides(&place(&[(60.0, 50.0, "recommended")], Some(&budget))), [("start", 20)]);
    }
}
