// What can be done with a chart: show and hide series, zoom together, read values by mouse, finger or keys.

const zooms = new Map();
const hiddenKeys = new Set();
let sharingZoom = false;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function makeControls(chart) {
  const tools = chart.figure.querySelector(".tools");
  const { choices } = chart.description;
  if (choices.length > 1) {
    const select = element("select");
    select.setAttribute("aria-label", `Design shown in “${chart.label}”`);
    choices.forEach((choice, index) => select.add(new Option(choice.label, index, false, index === chart.choice)));
    select.addEventListener("change", () => chart.choose(+select.value));
    tools.append(select);
  }
  chart.reset = element("button", "reset", "Reset zoom");
  chart.reset.type = "button";
  chart.reset.hidden = true;
  chart.reset.addEventListener("click", () => resetZoom(chart));
  tools.append(chart.reset);
  chart.readout = element("div", "readout");
  chart.readout.hidden = true;
  makeLegend(chart);
}

function makeLegend(chart) {
  const legend = chart.figure.querySelector(".legend");
  legend.replaceChildren();
  if (chart.series.length < 2) return;
  for (const one of chart.series) {
    const button = element("button", "key");
    button.type = "button";
    button.dataset.key = one.key;
    button.setAttribute("aria-pressed", String(!hiddenKeys.has(one.key)));
    button.append(swatch(one), element("span", "", one.label));
    button.addEventListener("click", () => toggle(one.key));
    button.addEventListener("mouseenter", () => chart.plot?.setSeries(chart.series.indexOf(one) + 1, { focus: true }));
    button.addEventListener("mouseleave", () => chart.plot?.setSeries(null, { focus: true }));
    legend.append(button);
  }
}

function swatch({ colour, shape, published }) {
  const made = element("span", `swatch ${["bars", "slots", "area"].includes(shape) ? "block" : "stroke"}`);
  made.dataset.colour = colour.role === "category" ? colour.index % CATEGORIES : colour.role;
  if (colour.role !== "category" || colour.index >= CATEGORIES) made.dataset.dashed = "";
  if (published) made.dataset.dashed = made.dataset.published = "";
  return made;
}

// A design that is hidden in one chart is hidden in all of them.
function toggle(key) {
  if (!hiddenKeys.delete(key)) hiddenKeys.add(key);
  for (const button of document.querySelectorAll(".legend .key")) {
    button.setAttribute("aria-pressed", String(!hiddenKeys.has(button.dataset.key)));
  }
  for (const chart of charts.values()) chart.showSeries();
}

function membersOf(chart) {
  const { group } = chart.description;
  return group ? [...charts.values()].filter((other) => other.description.group === group) : [chart];
}

function shareZoom(chart, plot) {
  if (sharingZoom || !chart.plot) return;
  const { min, max } = plot.scales.x;
  const [first, last] = chart.extent();
  const zoomed = max - min < (last - first) * 0.999;
  sharingZoom = true;
  for (const other of membersOf(chart)) {
    other.reset.hidden = !zoomed;
    if (other.description.group) {
      if (zoomed) zooms.set(other.description.group, [min, max]); else zooms.delete(other.description.group);
    }
    if (other !== chart && other.plot) other.plot.setScale("x", { min, max });
  }
  queueMicrotask(() => { sharingZoom = false; });
}

function resetZoom(chart) {
  zooms.delete(chart.description.group);
  const [min, max] = chart.extent();
  chart.plot.setScale("x", { min, max });
}

// The values under the cursor, each with its unit.
function showReadout(chart, plot) {
  const { idx, left } = plot.cursor;
  const { readout } = chart;
  if (readout.parentNode !== plot.over) plot.over.append(readout);
  readout.hidden = idx === null || idx === undefined || left < 0;
  if (readout.hidden) return;
  const { x, y } = chart.description;
  const rows = chart.series
    .map((one, index) => ({ one, value: chart.data[index + 1][idx] }))
    .filter(({ one, value }) => value !== null && value !== undefined && !hiddenKeys.has(one.key));
  const place = chart.data[0][idx];
  readout.replaceChildren(element("div", "place", x.names ? x.names[Math.round(place)] : UNITS[x.unit](place, x.epoch_s)));
  for (const { one, value } of rows) {
    const row = element("div", "row");
    row.append(swatch(one), element("span", "what", one.label), element("span", "value", UNITS[y.unit](value)));
    readout.append(row);
  }
  const right = left > plot.over.clientWidth / 2;
  readout.style.left = right ? "" : `${left + 14}px`;
  readout.style.right = right ? `${plot.over.clientWidth - left + 14}px` : "";
}

// Arrow keys walk along the chart; what is under the cursor is read out.
function makeFocusable(chart) {
  const { plot } = chart;
  plot.root.tabIndex = 0;
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", `${chart.label} Arrow keys read out its values.`);
  plot.root.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") plot.setCursor({ left: -10, top: -10 });
    if (steps === undefined) return;
    event.preventDefault();
    const places = chart.data[0];
    const idx = Math.max(0, Math.min(places.length - 1, (plot.cursor.idx ?? 0) + steps));
    plot.setCursor({ left: plot.valToPos(places[idx], "x"), top: 20 });
    document.getElementById("spoken").textContent = chart.readout.innerText.replaceAll("\n", " ");
  });
  plot.root.addEventListener("blur", () => plot.setCursor({ left: -10, top: -10 }));
}
