// The map of extents of a run. The moment is chosen with the slider, by playing, or in the picture of all moments.

let extentMap = null;

function startMap() {
  const figure = document.getElementById("extent-map");
  if (!figure) return;
  const run = JSON.parse(document.getElementById("data").textContent);
  extentMap = new ExtentMap(figure, run.placement_map, run.series);
}

const PLAY_MS = 120;

class ExtentMap {
  constructor(figure, map, series) {
    Object.assign(this, { figure, map, range: null, playing: 0 });
    this.canvas = figure.querySelector("canvas");
    this.slider = figure.querySelector("input");
    this.play = figure.querySelector(".play");
    this.readout = figure.querySelector(".readout");
    this.capacity = map.range_extents.reduce((sum, extents) => sum + extents, 0) * map.extent_bytes;
    this.rates = map.frames.map(({ start_s, end_s, requests }) => requests.map((count) => (end_s > start_s ? count / (end_s - start_s) : 0)));
    // The last frame may be so short that a single request in it would be a high rate.
    const length = map.frames[1].end_s - map.frames[1].start_s;
    const whole = this.rates.filter((_, index) => map.frames[index].end_s - map.frames[index].start_s >= length / 2);
    const rates = whole.flat().filter((rate) => rate > 0).sort((one, other) => one - other);
    this.top = rates.at(-1) ?? 1;
    // As hot as all but the hottest ranges: these would make all others look cold.
    this.usual = rates[Math.floor(rates.length * 0.95)] ?? 1;
    this.answers = answersOf(map, series);
    this.marks = [...charts.values()][0]?.description.marks ?? [];
    for (const part of figure.querySelectorAll(".moment, .canvas")) part.hidden = false;
    this.slider.addEventListener("input", () => { this.stop(); this.choose(+this.slider.value); });
    this.play.addEventListener("click", () => (this.playing ? this.stop() : this.start()));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event, true));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.leave());
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentNode);
    this.choose(map.frames.length - 1);
  }

  get frame() {
    return this.map.frames[this.moment];
  }

  choose(moment) {
    this.moment = Math.max(0, Math.min(this.map.frames.length - 1, moment));
    this.slider.value = this.moment;
    const time = this.timeOf(this.moment);
    this.slider.setAttribute("aria-valuetext", time);
    this.figure.querySelector("output").textContent = time;
    this.figure.querySelector("caption").textContent = this.sentence();
    this.writeTable();
    this.draw();
  }

  timeOf(moment) {
    const { start_s, end_s } = this.map.frames[moment];
    return moment === 0 ? `the start, ${exactly(end_s)}` : `${exactly(start_s)} to ${exactly(end_s)}`;
  }

  sentence() {
    if (this.moment === 0) return "Where the extents were when measuring began";
    const { moved, redirected } = this.answers[this.moment];
    const count = (number, one, many) => `${UNITS.count(number)}${NBSP}${number === 1 ? one : many}`;
    return `At ${exactly(this.frame.end_s)}. Since ${exactly(this.frame.start_s)}, ${count(moved, "extent was", "extents were")} moved and ${count(redirected, "write", "writes")} redirected`;
  }

  writeTable() {
    const all = this.capacity / this.map.extent_bytes;
    const { shares, targets } = this.answers[this.moment];
    const optional = (value) => (Number.isFinite(value) ? share(value) : "–");
    this.figure.querySelectorAll("tbody tr").forEach((row, child) => {
      const held = this.frame.extents[child].reduce((sum, extents) => sum + extents, 0);
      const texts = [grouped(String(held)), share(held / all), optional(shares[child]), optional(targets[child])];
      row.querySelectorAll("td").forEach((cell, index) => { cell.textContent = texts[index]; });
    });
  }

  draw() {
    drawExtentMap(this);
  }

  start() {
    if (this.moment === this.map.frames.length - 1) this.choose(0);
    this.play.textContent = "Pause";
    this.playing = setInterval(() => {
      this.choose(this.moment + 1);
      if (this.moment === this.map.frames.length - 1) this.stop();
    }, PLAY_MS);
  }

  stop() {
    clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = "Play";
  }

  // The mouse or a finger shows what is there; pressed in the picture of all moments, it chooses the moment.
  point(event, pressed = event.buttons > 0) {
    const box = this.canvas.getBoundingClientRect();
    const { range, moment } = placeIn(this, event.clientX - box.left, event.clientY - box.top);
    if (range === null) return this.leave();
    this.range = range;
    if (pressed && moment !== null) {
      this.stop();
      this.choose(moment);
    } else {
      this.draw();
    }
    this.show(moment ?? this.moment, event.clientX - box.left, event.clientY - box.top);
  }

  leave() {
    this.readout.hidden = true;
    if (this.range === null) return;
    this.range = null;
    this.draw();
  }

  // Left and right walk along the ranges, up and down along the moments; what is there is read out.
  key(event) {
    const last = this.map.range_extents.length - 1;
    const across = { ArrowLeft: -1, ArrowRight: 1, PageUp: -16, PageDown: 16, Home: -Infinity, End: Infinity }[event.key];
    const along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") return this.leave();
    if (across === undefined && along === undefined) return;
    event.preventDefault();
    this.stop();
    this.range = Math.max(0, Math.min(last, (this.range ?? (across < 0 ? last + 1 : -1)) + (across ?? 0)));
    this.choose(this.moment + (along ?? 0));
    this.show(this.moment, middleOf(this, this.range), 20);
    document.getElementById("spoken").textContent = this.readout.innerText.replaceAll("\n", " ");
  }

  show(moment, left, top) {
    const { map, range, readout } = this;
    const { extents } = map.frames[moment];
    const from = range * map.range_bytes;
    const to = Math.min(from + map.range_bytes, this.capacity);
    const lines = [element("div", "place", `${UNITS.bytes(from)} to ${UNITS.bytes(to)}`), element("div", "row", this.timeOf(moment))];
    map.children.forEach((name, child) => {
      const count = extents[child][range];
      if (count > 0) lines.push(readoutRow(swatchOf(child), name, `${count} of ${map.range_extents[range]} extents`));
    });
    lines.push(readoutRow("", "requests", UNITS.per_second(this.rates[moment][range])));
    readout.replaceChildren(...lines);
    readout.hidden = false;
    const right = left > this.canvas.clientWidth / 2;
    readout.style.left = right ? "" : `${left + 14}px`;
    readout.style.right = right ? `${this.canvas.clientWidth - left + 14}px` : "";
    readout.style.top = `${Math.max(4, top - 30)}px`;
  }
}

// A time with the parts of a second that clocks leave out.
function exactly(seconds) {
  const part = seconds % 1;
  return elapsed(seconds) + (seconds >= 120 && part >= 0.01 && part < 0.995 ? part.toFixed(2).slice(1) : "");
}

function readoutRow(mark, what, value) {
  const row = element("div", "row");
  row.append(mark, element("span", "what", what), element("span", "value", value));
  return row;
}

function swatchOf(child) {
  return swatch({ colour: { role: "category", index: child % CATEGORIES }, shape: "area" });
}

// For each frame: the children's shares of the requests and their targets, and what was moved, as the series has it.
function answersOf({ children, frames }, series) {
  const answers = frames.map(() => ({ requests: children.map(() => 0), targets: children.map(() => NaN), moved: 0, redirected: 0 }));
  let at = 1;
  for (const point of series) {
    while (at < frames.length - 1 && point.start_s >= frames[at].end_s) at++;
    const answer = answers[at];
    answer.moved += point.placement?.moved_extents ?? 0;
    answer.redirected += point.placement?.redirected_writes ?? 0;
    children.forEach((name, child) => {
      answer.requests[child] += point.children?.[name]?.requests ?? 0;
      answer.targets[child] = point.children?.[name]?.target_share ?? NaN;
    });
  }
  for (const answer of answers) {
    const all = answer.requests.reduce((sum, requests) => sum + requests, 0);
    answer.shares = answer.requests.map((requests) => (all > 0 ? requests / all : NaN));
  }
  return answers;
}
