// Series with places of their own, brought onto common places, which is what the chart library draws.

function tabulate(series, scales) {
  const curves = series.map((one) => finite(column(one.x), column(one.y), scales));
  const shared = series.every((one) => one.x === series[0].x);
  if (shared && scales.x === "linear" && scales.y !== "nines") {
    const places = Array.from(column(series[0].x));
    return [places, ...series.map((one) => Array.from(column(one.y), (value) => (drawableOn(value, scales.y) ? value : null)))];
  }
  const places = [...new Set(curves.flatMap((curve) => curve.x))].sort((left, right) => left - right);
  return [places, ...curves.map((curve, index) => places.map((place) => valueAt(curve, place, series[index].shape, scales)))];
}

function drawableOn(value, scale) {
  return Number.isFinite(value) && (scale !== "log" || value > 0);
}

// Points that can be drawn; several at one place become a vertical rise just before it.
function finite(xs, ys, scales) {
  const curve = { x: [], y: [] };
  for (let index = 0; index < xs.length; index++) {
    if (!drawableOn(xs[index], scales.x)) continue;
    const again = curve.x.length > 1 && curve.x[curve.x.length - 1] === xs[index];
    if (again) {
      const earlier = xs[index] - Math.abs(xs[index]) * 1e-9;
      if (curve.x[curve.x.length - 2] < earlier) {
        curve.x.splice(-1, 0, earlier);
        curve.y.splice(-1, 0, curve.y[curve.y.length - 1]);
      }
      curve.y[curve.y.length - 1] = ys[index];
    } else {
      curve.x.push(xs[index]);
      curve.y.push(drawableOn(ys[index], scales.y) ? ys[index] : null);
    }
  }
  return curve;
}

// The curve's value at a place: its last step, or on the straight line between its neighbours as the axes space them.
function valueAt({ x, y }, place, shape, scales) {
  if (x.length === 0 || place < x[0] || place > x[x.length - 1]) return null;
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (x[middle] <= place) low = middle; else high = middle - 1;
  }
  if (x[low] === place || shape !== "line" || y[low] === null || y[low + 1] === null) return y[low];
  const across = SPACING[scales.x];
  const up = SPACING[scales.y];
  const part = (across.to(place) - across.to(x[low])) / (across.to(x[low + 1]) - across.to(x[low]));
  return up.from(up.to(y[low]) + part * (up.to(y[low + 1]) - up.to(y[low])));
}

// How scales space values: 90 %, 99 % and 99.9 % are equally far apart on a scale of nines.
const SPACING = {
  linear: { to: (value) => value, from: (value) => value },
  log: { to: Math.log10, from: (value) => 10 ** value },
  nines: { to: (value) => -Math.log10(1 - Math.min(value, 0.99999)), from: (value) => 1 - 10 ** -value },
};
