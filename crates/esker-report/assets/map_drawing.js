// Draws the map of extents: heat and places at the chosen moment, and below all moments at once.

// Heights of the parts in CSS pixels, and the line of text above each.
const MAP = { text: 34, heat: 84, stack: 96, axis: 54, right: 20 };

function mapLayout({ canvas, map }) {
  const width = canvas.parentNode.clientWidth;
  const left = width < 500 ? 52 : 76;
  const heat = MAP.text;
  const stack = heat + MAP.heat + MAP.text;
  const all = stack + MAP.stack + MAP.axis;
  const height = Math.max(60, Math.min(240, 8 * (map.frames.length - 1)));
  return { width, left, across: width - left - MAP.right, heat, stack, all, rows: height, height: all + height + 8 };
}

// The range and, in the picture of all moments, the frame at a place of the canvas; null where there is none.
function placeIn(extentMap, x, y) {
  const { map, capacity } = extentMap;
  const at = mapLayout(extentMap);
  const address = ((x - at.left) / at.across) * capacity;
  if (address < 0 || address >= capacity) return { range: null, moment: null };
  const time = map.frames[0].end_s + ((y - at.all) / at.rows) * (map.frames.at(-1).end_s - map.frames[0].end_s);
  const inside = y >= at.all && y < at.all + at.rows;
  const moment = inside ? map.frames.findIndex((frame, index) => index > 0 && time < frame.end_s) : -1;
  return { range: Math.floor(address / map.range_bytes), moment: moment < 0 ? null : moment };
}

function middleOf(extentMap, range) {
  const at = mapLayout(extentMap);
  return at.left + (at.across * (range + 0.5) * extentMap.map.range_bytes) / extentMap.capacity;
}

function drawExtentMap(extentMap) {
  const { canvas } = extentMap;
  const at = mapLayout(extentMap);
  if (at.across < 50) return;
  const ratio = Math.max(2, devicePixelRatio);
  [canvas.width, canvas.height] = [Math.round(at.width * ratio), Math.round(at.height * ratio)];
  canvas.style.height = `${at.height}px`;
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  const colours = { ink: theColour("--ink"), muted: theColour("--muted"), grid: theColour("--grid"), line: theColour("--line"), paper: theColour("--paper") };
  colours.children = extentMap.map.children.map((_, child) => theColour(`--series-${child % CATEGORIES}`));
  const pen = { ctx, at, colours, ratio };
  drawHeat(extentMap, pen);
  drawStack(extentMap, pen);
  drawAddresses(extentMap, pen);
  drawMoments(extentMap, pen);
  if (extentMap.range === null) return;
  const x = middleOf(extentMap, extentMap.range);
  line(pen, x, at.heat, x, at.stack + MAP.stack, colours.ink, 1);
  line(pen, x, at.all, x, at.all + at.rows, colours.ink, 1);
}

function line({ ctx }, fromX, fromY, toX, toY, colour, width) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

function words({ ctx, colours }, text, x, y, align = "left", baseline = "alphabetic", colour = colours.muted) {
  ctx.font = "12px system-ui, sans-serif";
  ctx.fillStyle = colour;
  ctx.textAlign = align;
  ctx.textBaseline = baseline;
  ctx.fillText(text, x, y);
}

// Left edge and width of a range, in whole dots, so that neighbours leave no gap.
function columnOf({ map, capacity }, { at, ratio }, range) {
  const edge = (index) => Math.round((at.left + (at.across * Math.min(index * map.range_bytes, capacity)) / capacity) * ratio) / ratio;
  return [edge(range), edge(range + 1) - edge(range)];
}

function drawHeat(extentMap, pen) {
  const { ctx, at, colours } = pen;
  const { top } = extentMap;
  words(pen, "↑ requests per second (by their square root)", 0, at.heat - 15);
  for (const part of [0, 1 / 4, 1]) {
    const y = at.heat + MAP.heat * (1 - Math.sqrt(part));
    line(pen, at.left, y, at.left + at.across, y, colours.grid, 1);
    words(pen, UNITS.per_second(+(top * part).toPrecision(2)), at.left - 6, y, "right", "middle");
  }
  ctx.fillStyle = colours.ink;
  extentMap.rates[extentMap.moment].forEach((rate, range) => {
    const [x, width] = columnOf(extentMap, pen, range);
    const height = MAP.heat * Math.sqrt(Math.min(1, rate / top));
    ctx.fillRect(x, at.heat + MAP.heat - height, width, height);
  });
}

function drawStack(extentMap, pen) {
  const { ctx, at, colours } = pen;
  const { map, frame } = extentMap;
  words(pen, "↑ extents of each range, by device", 0, at.stack - 15);
  for (const part of [0, 1]) words(pen, share(part), at.left - 6, at.stack + MAP.stack * (1 - part), "right", "middle");
  map.range_extents.forEach((extents, range) => {
    const [x, width] = columnOf(extentMap, pen, range);
    let y = at.stack + MAP.stack;
    map.children.forEach((_, child) => {
      const height = (MAP.stack * frame.extents[child][range]) / extents;
      ctx.fillStyle = colours.children[child];
      ctx.fillRect(x, y - height, width, height);
      y -= height;
    });
  });
  ctx.strokeStyle = colours.line;
  ctx.lineWidth = 1;
  ctx.strokeRect(at.left, at.stack, at.across, MAP.stack);
}

function drawAddresses({ capacity }, pen) {
  const { at, colours } = pen;
  const step = BINARY_STEPS.find((bytes) => (capacity / bytes) * 75 <= at.across) ?? capacity;
  const y = at.stack + MAP.stack;
  for (let address = 0; address <= capacity; address += step) {
    const x = at.left + (at.across * address) / capacity;
    line(pen, x, y, x, y + 4, colours.muted, 1);
    words(pen, UNITS.bytes(address), x, y + 7, address === 0 ? "left" : x > at.left + at.across - 20 ? "right" : "center", "top");
  }
  words(pen, "↓ time", 0, at.all - 15);
}

// A row for each frame, as high as it is long.
function drawMoments(extentMap, pen) {
  const { ctx, at, colours, ratio } = pen;
  const { map, capacity, marks, moment } = extentMap;
  const [begin, end] = [map.frames[0].end_s, map.frames.at(-1).end_s];
  // In whole dots: rows that overlapped would be darker there.
  const place = (time) => Math.round((at.all + (at.rows * (time - begin)) / (end - begin)) * ratio) / ratio;
  const picture = momentsPicture(extentMap, colours);
  const across = (at.across * map.range_extents.length * map.range_bytes) / capacity;
  ctx.save();
  ctx.beginPath();
  ctx.rect(at.left, at.all, at.across, at.rows);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  map.frames.slice(1).forEach(({ start_s, end_s }, row) => {
    ctx.drawImage(picture, 0, row, picture.width, 1, at.left, place(start_s), across, place(end_s) - place(start_s));
  });
  ctx.restore();
  ctx.strokeStyle = colours.line;
  ctx.strokeRect(at.left, at.all, at.across, at.rows);
  const step = CLOCK_STEPS.find((seconds) => ((end - begin) / seconds) * 26 <= at.rows) ?? end - begin;
  const ticks = clockSplits(begin, end, step);
  const labels = clockTicks(ticks, step);
  ticks.forEach((tick, index) => {
    line(pen, at.left - 4, place(tick), at.left, place(tick), colours.muted, 1);
    words(pen, labels[index], at.left - 7, place(tick), "right", "middle");
  });
  marks.filter(({ value }) => value >= begin && value <= end).forEach(({ value, label }) => drawEvent(pen, place(value), label));
  const { start_s, end_s } = map.frames[moment];
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(at.left - 1, place(start_s) - 1, at.across + 2, place(end_s) - place(start_s) + 2);
}

function drawEvent(pen, y, label) {
  const { ctx, at, colours } = pen;
  ctx.setLineDash([6, 4]);
  line(pen, at.left, y, at.left + at.across, y, colours.ink, 1.5);
  ctx.setLineDash([]);
  ctx.font = "12px system-ui, sans-serif";
  const length = ctx.measureText(label).width;
  const base = y - at.all > 18 ? y - 4 : y + 15;
  ctx.fillStyle = colours.paper;
  ctx.fillRect(at.left + at.across - length - 10, base - 12, length + 8, 16);
  words(pen, label, at.left + at.across - 6, base, "right", "alphabetic", colours.ink);
}

// One dot for each range and frame. Strong colours are hot. The colour leans to the child that holds most: shares in
// proportion would all be much the same grey.
function momentsPicture({ map, rates, usual }, colours) {
  const picture = element("canvas");
  [picture.width, picture.height] = [map.range_extents.length, map.frames.length - 1];
  const ctx = picture.getContext("2d");
  const dots = ctx.createImageData(picture.width, picture.height);
  const parts = [...colours.children, colours.muted].map((colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number));
  map.frames.slice(1).forEach(({ extents }, row) => {
    map.range_extents.forEach((all, range) => {
      const counts = map.children.map((_, child) => extents[child][range]);
      counts.push(all - counts.reduce((sum, count) => sum + count, 0));
      const strength = 0.1 + 0.9 * Math.sqrt(Math.min(1, rates[row + 1][range] / usual));
      const weights = counts.map((count) => count ** 3);
      const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1;
      const dot = [0, 1, 2].map((part) => weights.reduce((sum, weight, child) => sum + weight * parts[child][part], 0) / whole);
      dots.data.set([...dot.map(Math.round), Math.round(255 * strength)], 4 * (row * picture.width + range));
    });
  });
  ctx.putImageData(dots, 0, 0);
  return picture;
}
