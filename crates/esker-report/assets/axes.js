// Scales and axes as the chart library wants them: where values lie, and which of them are written.

function xScale(chart) {
  const { x, group } = chart.description;
  if (x.names) return { time: false, range: [-0.5, x.names.length - 0.5] };
  const [min, max] = zooms.get(group) ?? chart.extent();
  return { time: false, distr: x.scale === "log" ? 3 : 1, log: 10, min, max, range: (plot, from, to) => [from, to] };
}

function yScale(y, marks) {
  const values = marks.filter((mark) => mark.axis === "y").map((mark) => mark.value);
  if (y.scale === "nines") {
    return { distr: 100, fwd: (value) => -Math.log10(1 - Math.min(value, 0.99999)), bwd: (nines) => 1 - 10 ** -nines, range: () => [0, 0.99993] };
  }
  if (y.scale === "log") {
    return {
      distr: 3,
      log: 10,
      range: (plot, min, max) => (min === null ? [1, 10] : [Math.min(min, ...values) / 1.5, Math.max(max, ...values) * 1.5]),
    };
  }
  // The whole is worth seeing, except where it would squeeze everything to the ground.
  return { range: (plot, min, max) => [0, y.top && max > y.top / 5 ? y.top : (Math.max(max ?? 1, ...values) || 1) * 1.08] };
}

const axisStyle = () => ({
  stroke: () => theColour("--muted"),
  font: "12px system-ui, sans-serif",
  grid: { stroke: () => theColour("--grid"), width: 1 },
  ticks: { stroke: () => theColour("--grid"), width: 1, size: 5 },
});

function xAxis(x) {
  const style = { ...axisStyle(), size: 30 };
  if (x.names) {
    return { ...style, grid: { show: false }, splits: () => x.names.map((_, index) => index), values: (plot) => thinned(x.names, Math.ceil((x.names.length * nameWidth(x.names)) / (plot.width - 90))), filter: (plot, ticks) => ticks };
  }
  if (x.unit === "elapsed") {
    return {
      ...style,
      incrs: CLOCK_STEPS,
      space: 55,
      splits: (plot, axis, min, max, step) => clockSplits(min, max, step, x.epoch_s),
      values: (plot, ticks, axis, space, step) => clockTicks(ticks, step, x.epoch_s),
    };
  }
  if (x.scale === "log") {
    return { ...style, splits: (plot, axis, min, max) => logSplits(min, max, x.unit, plot.width / 90), values: (plot, ticks) => ticks.map(UNITS[x.unit]), filter: (plot, ticks) => ticks };
  }
  return { ...style, space: 60, values: (plot, ticks) => ticks.map((tick) => UNITS[x.unit](tick)) };
}

function yAxis(y) {
  const style = { ...axisStyle(), size: 76 };
  if (y.scale === "nines") {
    const shares = [0, 0.5, 0.9, 0.99, 0.999, 0.9999];
    return { ...style, splits: () => shares, values: () => shares.map((tick) => share(tick)), filter: (plot, ticks) => ticks };
  }
  if (y.scale === "log") {
    return { ...style, splits: (plot, axis, min, max) => logSplits(min, max, y.unit, chartHeight() / 30), values: (plot, ticks) => ticks.map(UNITS[y.unit]), filter: (plot, ticks) => ticks };
  }
  return { ...style, space: 36, incrs: y.unit.startsWith("bytes") ? BINARY_STEPS : undefined, values: (plot, ticks) => ticks.map((tick) => UNITS[y.unit](tick)) };
}

// Room for the longest name, in pixels.
function nameWidth(names) {
  return Math.max(52, 10 + 6.3 * Math.max(...names.map((name) => name.length)));
}

// Every nth name, where all would not fit.
function thinned(names, every) {
  return names.map((name, index) => (index % every === 0 ? name : ""));
}

// Round values, equally far apart in ratio; not more of them than there is room for.
function logSplits(min, max, unit, room) {
  const base = unit === "bytes" ? 2 : 10;
  const first = Math.floor(Math.log(min) / Math.log(base) + 1e-9);
  const last = Math.ceil(Math.log(max) / Math.log(base));
  const step = Math.max(1, Math.ceil((last - first) / room));
  const digits = base === 10 && (last - first) * 3 <= room ? [1, 2, 5] : [1];
  const all = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) all.push(...digits.map((digit) => digit * base ** power));
  return all.filter((value) => value >= min && value <= max);
}
