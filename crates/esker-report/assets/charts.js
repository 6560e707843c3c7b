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
  return theColour(colour.role === "measured" ? "--measured" : `--series-${colour.index % CATEGORIES}`, faint);
}

function dashOf({ colour }) {
  if (colour.role === "measured") return [2, 3];
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
    const zoom = zooms.get(this.description.group);
    this.plot?.destroy();
    this.data = tabulate(this.series, { x: this.description.x.scale, y: this.description.y.scale });
    this.plot = new uPlot(plotOptions(this, width), this.data, this.box);
    if (zoom) this.plot.setScale("x", zoom);
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
  if (group) return { time: false, range: (plot, min, max) => (zooms.has(group) ? [min, max] : chart.extent()) };
  return { time: false, distr: x.scale === "log" ? 3 : 1, log: 10, range: (plot, min, max) => [min, max] };
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
  const top = y.unit === "share" ? 1 : 0;
  return { range: (plot, min, max) => [0, max === null ? 1 : Math.max(top, uPlot.rangeNum(0, Math.max(max, ...values), 0.08, true)[1])] };
}

const axisStyle = () => ({
  stroke: () => theColour("--muted"),
  font: "12px system-ui, sans-serif",
  grid: { stroke: () => theColour("--grid"), width: 1 },
  ticks: { stroke: () => theColour("--grid"), width: 1, size: 5 },
});

function xAxis(x) {
  const style = axisStyle();
  if (x.names) {
    return { ...style, grid: { show: false }, splits: () => x.names.map((_, index) => index), values: () => x.names, rotate: 0, space: 30 };
  }
  if (x.unit === "elapsed") {
    return { ...style, incrs: CLOCK_STEPS, space: 70, values: (plot, ticks, _, __, step) => clockTicks(ticks, step, x.epoch_s) };
  }
  return { ...style, space: 60, values: (plot, ticks) => ticks.map((tick) => (tick === null ? null : UNITS[x.unit](tick))) };
}

function yAxis(y) {
  const style = { ...axisStyle(), size: 76 };
  if (y.scale === "nines") {
    const shares = [0, 0.5, 0.9, 0.99, 0.999, 0.9999];
    return { ...style, splits: () => shares, values: () => shares.map((tick) => share(tick)), filter: (plot, ticks) => ticks };
  }
  return { ...style, space: 36, values: (plot, ticks) => ticks.map((tick) => (tick === null ? null : UNITS[y.unit](tick))) };
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
    ctx.strokeStyle = ctx.fillStyle = theColour("--mark");
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
    ctx.fillText(mark.label, across, mark.axis === "y" ? at - gap / 2 : bbox.top + 18 * ratio);
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
