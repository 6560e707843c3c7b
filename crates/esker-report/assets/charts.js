// Draws the charts that the page describes. Every chart is made when it first comes into sight.

const CHART_HEIGHT = 260;
const charts = new Map();

// A colour of the style sheet as the canvas understands it, in the scheme that is in force; faint: a quarter of it.
const probe = document.body.appendChild(element("span"));
probe.hidden = true;
function theColour(name, faint = false) {
  probe.style.color = faint ? `color-mix(in srgb, var(${name}) 25%, transparent)` : `var(${name})`;
  return getComputedStyle(probe).color;
}

const CATEGORIES = 7;
function colourOf({ colour }, faint) {
  const name = { measured: "--measured", reference: "--muted" }[colour.role] ?? `--series-${colour.index % CATEGORIES}`;
  return theColour(name, faint);
}

function dashOf({ colour }) {
  if (colour.role !== "category") return colour.role === "measured" ? [6, 3] : [2, 4];
  return [[], [8, 4], [3, 3]][Math.floor(colour.index / CATEGORIES) % 3];
}

class Chart {
  constructor(figure, description) {
    this.figure = figure;
    this.description = description;
    this.box = figure.querySelector(".plot");
    this.choice = description.chosen;
    this.plot = null;
    makeControls(this);
  }

  get series() {
    return this.description.choices[this.choice].series;
  }

  get label() {
    return this.description.title;
  }

  draw() {
    const width = this.box.clientWidth;
    if (width < 50) return;
    this.plot?.destroy();
    this.data = tabulate(this.series, { x: this.description.x.scale, y: this.description.y.scale });
    this.plot = new uPlot(plotOptions(this, width), this.data, this.box);
    makeFocusable(this);
  }

  resize(width = this.box.clientWidth) {
    if (!this.plot || width < 50 || width === this.plot.width) return;
    this.plot.setSize({ width, height: CHART_HEIGHT });
  }

  choose(choice) {
    this.choice = choice;
    makeLegend(this);
    this.draw();
  }

  showSeries() {
    this.series.forEach((one, index) => {
      this.plot?.setSeries(index + 1, { show: !hiddenKeys.has(one.key) }, false);
    });
  }

  // Places from the first to the last value of all charts that share this chart's axis.
  extent() {
    const { group } = this.description;
    let [min, max] = [Infinity, -Infinity];
    for (const other of group ? charts.values() : [this]) {
      if (other.description.group !== group) continue;
      for (const one of other.description.choices.flatMap((choice) => choice.series)) {
        const places = column(one.x);
        min = Math.min(min, places[0]);
        max = Math.max(max, places[places.length - 1]);
      }
    }
    return [min, max];
  }
}

function plotOptions(chart, width) {
  const { x, y, marks, group } = chart.description;
  return {
    width,
    height: CHART_HEIGHT,
    legend: { show: false },
    padding: [10, 14, 0, 0],
    focus: { alpha: 0.3 },
    cursor: {
      y: false,
      drag: { x: x.names === undefined, y: false, dist: 6 },
      points: { size: 7 },
      bind: { dblclick: () => () => resetZoom(chart) },
      sync: group ? { key: group, setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } } : undefined,
    },
    scales: { x: xScale(chart), y: yScale(y, marks) },
    axes: [xAxis(x), yAxis(y)],
    series: [{}, ...chart.series.map((one, index) => seriesOptions(one, index, chart))],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks)],
      setCursor: [(plot) => showReadout(chart, plot)],
      setScale: [(plot, key) => { if (key === "x") shareZoom(chart, plot); }],
    },
  };
}

function xScale(chart) {
  const { x, group } = chart.description;
  if (x.names) return { time: false, range: [-0.5, x.names.length - 0.5] };
  const [min, max] = zooms.get(group) ?? chart.extent();
  return { time: false, distr: x.scale === "log" ? 3 : 1, log: 10, min, max, range: (plot, from, to) => [from, to] };
}

function yScale(y, marks) {
  const values = marks.filter((mark) => mark.axis === "y").map((mark) => mark.value);
  if (y.scale === "nines") {
    return { distr: 100, fwd: SPACING.nines.to, bwd: SPACING.nines.from, range: () => [0, 0.99993] };
  }
  if (y.scale === "log") {
    return {
      distr: 3,
      log: 10,
      range: (plot, min, max) => (min === null ? [1, 10] : uPlot.rangeLog(Math.min(min, ...values), Math.max(max, ...values) * 1.2, 10, false)),
    };
  }
  return { range: (plot, min, max) => [0, y.top ?? Math.max(max ?? 1, ...values) * 1.08] };
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
    return { ...style, grid: { show: false }, splits: () => x.names.map((_, index) => index), values: (plot) => thinned(x.names, Math.ceil((x.names.length * 52) / (plot.width - 90))), filter: (plot, ticks) => ticks };
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
    return { ...style, splits: (plot, axis, min, max) => logSplits(min, max, y.unit, CHART_HEIGHT / 30), values: (plot, ticks) => ticks.map(UNITS[y.unit]), filter: (plot, ticks) => ticks };
  }
  return { ...style, space: 36, incrs: y.unit.startsWith("bytes") ? BINARY_STEPS : undefined, values: (plot, ticks) => ticks.map((tick) => UNITS[y.unit](tick)) };
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

function seriesOptions(one, index, chart) {
  const { paths } = uPlot;
  const filled = one.shape === "area" || one.shape === "bars";
  const bars = chart.series.length > 1 ? { align: index === 0 ? -1 : 1, size: [0.4, 40] } : { size: [0.7, 60] };
  return {
    label: one.label,
    show: !hiddenKeys.has(one.key),
    stroke: () => colourOf(one),
    fill: filled ? () => colourOf(one, one.shape === "area") : undefined,
    width: one.shape === "bars" ? 0 : one.shape === "line" ? 2 : 1.5,
    dash: dashOf(one),
    points: { show: false },
    paths: { line: paths.linear(), steps: paths.stepped({ align: 1 }), area: paths.stepped({ align: 1 }), bars: paths.bars(bars) }[one.shape],
  };
}

// Lines across: budgets and knees, each with its name.
function drawMarks(plot, marks) {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  ctx.save();
  for (const mark of marks) {
    const at = Math.round(plot.valToPos(mark.value, mark.axis, true));
    const inside = mark.axis === "y" ? at >= bbox.top && at <= bbox.top + bbox.height : at >= bbox.left && at <= bbox.left + bbox.width;
    if (!inside) continue;
    ctx.strokeStyle = ctx.fillStyle = theColour("--ink");
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(mark.axis === "y" ? bbox.left : at, mark.axis === "y" ? at : bbox.top);
    ctx.lineTo(mark.axis === "y" ? bbox.left + bbox.width : at, mark.axis === "y" ? at : bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "bottom";
    const late = mark.axis === "y" || at > bbox.left + bbox.width * 0.6;
    ctx.textAlign = late ? "right" : "left";
    const gap = 5 * ratio;
    const across = mark.axis === "y" ? bbox.left + bbox.width - gap : at + (late ? -gap : gap);
    const down = mark.axis === "y" ? at - gap / 2 : bbox.top + 18 * ratio;
    const length = ctx.measureText(mark.label).width;
    ctx.fillStyle = theColour("--paper");
    ctx.fillRect(late ? across - length - gap / 2 : across - gap / 2, down - 14 * ratio, length + gap, 15 * ratio);
    ctx.fillStyle = theColour("--ink");
    ctx.fillText(mark.label, across, down);
  }
  ctx.restore();
}

function drawAll() {
  for (const chart of charts.values()) if (!chart.plot) chart.draw();
}

function startCharts() {
  const descriptions = JSON.parse(document.getElementById("charts").textContent);
  for (const description of descriptions) {
    const figure = document.getElementById(description.id);
    charts.set(figure, new Chart(figure, description));
  }
  const inSight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.get(entry.target);
      if (entry.isIntersecting && !chart.plot) chart.draw();
    }
  }, { rootMargin: "600px" });
  const sized = new ResizeObserver((entries) => entries.forEach((entry) => charts.get(entry.target.closest("figure")).resize()));
  for (const chart of charts.values()) {
    inSight.observe(chart.figure);
    sized.observe(chart.box);
  }
}
