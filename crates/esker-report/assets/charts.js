// Draws the charts that the page describes. Every chart is made when it first comes into sight.

// As high as the style sheet makes it: lower on paper.
const chartHeight = () => (document.documentElement.classList.contains("printing") ? 165 : 260);
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

function dashOf({ colour, published }) {
  if (published) return [6, 4];
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

  get x() {
    return this.description.choices[this.choice].x;
  }

  get label() {
    return this.description.title;
  }

  draw() {
    const width = this.box.clientWidth;
    if (width < 50) return;
    this.plot?.destroy();
    this.data = [Array.from(column(this.x)), ...this.series.map((one) => Array.from(column(one.y), (value) => (Number.isNaN(value) ? null : value)))];
    this.plot = new uPlot(plotOptions(this, width), this.data, this.box);
    makeFocusable(this);
  }

  resize(width = this.box.clientWidth) {
    if (!this.plot || width < 50 || width === this.plot.width) return;
    this.plot.setSize({ width, height: chartHeight() });
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
      for (const { x } of other.description.choices) {
        const places = column(x);
        min = Math.min(min, places[0] ?? min);
        max = Math.max(max, places.at(-1) ?? max);
      }
    }
    const { padded, x } = this.description;
    if (padded && min <= max) return x.scale === "log" ? [min / paddingOf(max / min), max * paddingOf(max / min)] : [min - 0.03 * (max - min || 1), max + 0.03 * (max - min || 1)];
    return min < max ? [min, max] : [1, 10];
  }
}

// Three per cent of what a logarithmic axis shows.
function paddingOf(ratio) {
  return ratio > 1 ? ratio ** 0.03 : 1.2;
}

function plotOptions(chart, width) {
  const { x, y, marks, group } = chart.description;
  return {
    width,
    height: chartHeight(),
    legend: { show: false },
    padding: [10, 20, 0, 0],
    focus: { alpha: 0.25 },
    cursor: {
      y: false,
      drag: { x: x.names === undefined, y: false, dist: 6 },
      points: { size: 7 },
      focus: { prox: chart.series.length > 2 ? 20 : -1 },
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

function seriesOptions(one, index, chart) {
  const { paths } = uPlot;
  const { shape, published } = one;
  const filled = ["area", "bars", "slots"].includes(shape);
  const bars = chart.series.length > 1 ? { align: index === 0 ? -1 : 1, size: [0.4, 40] } : { size: [0.7, 60] };
  const line = ["line", "points", "many_points"].includes(shape);
  const mark = { show: true, size: 8, width: 1.75, stroke: () => colourOf(one), fill: () => (published ? theColour("--paper") : colourOf(one)) };
  return {
    label: one.label,
    show: !hiddenKeys.has(one.key),
    stroke: () => colourOf(one),
    fill: filled ? () => (published ? theColour("--paper") : colourOf(one, shape === "area")) : undefined,
    width: shape === "bars" ? 0 : line ? 2 : 1.25,
    dash: dashOf(one),
    points: shape === "points" ? mark : { show: false },
    spanGaps: shape === "points" || shape === "many_points",
    paths: { line: paths.linear(), points: paths.linear(), many_points: paths.linear(), steps: paths.stepped({ align: 1 }), area: paths.stepped({ align: 1 }), bars: paths.bars(bars), slots: paths.bars({ size: [0.9, 44] }) }[shape],
  };
}

// Lines across: budgets and knees, each with its name.
function drawMarks(plot, marks) {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  ctx.save();
  let upright = 0;
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
    // Names of lines side by side take turns on three rows, so that none hides the next.
    const down = mark.axis === "y" ? at - gap / 2 : bbox.top + (18 + 17 * (upright++ % 3)) * ratio;
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
