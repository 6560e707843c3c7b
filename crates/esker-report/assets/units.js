// Numbers as people read them: three significant digits and a unit that keeps them short. WRITTEN holds the tables that the
// page's own numbers are written by (esker_core::words).

const NBSP = WRITTEN.spaces.unit;

// With so many decimals; halves go to the even neighbour, as they do in the page's own numbers.
function fixed(value, decimals) {
  const exact = value.toFixed(decimals + 20);
  const cut = exact.slice(0, -20);
  const isEvenHalf = /^50*$/.test(exact.slice(-20)) && /[02468]\.?$/.test(cut);
  return isEvenHalf ? cut.replace(/\.$/, "") : value.toFixed(decimals);
}

function withoutZeroes(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function significant(value, digits = 3) {
  if (value === 0) return "0";
  const exponent = +value.toExponential(digits - 1).split("e")[1];
  return withoutZeroes(fixed(value, Math.max(0, Math.min(9, digits - 1 - exponent))));
}

function grouped(text) {
  const [whole, fraction] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, WRITTEN.spaces.group) + (fraction ? "." + fraction : "");
}

// In the largest unit that the value reaches, or would be read as having reached.
function scaled(value, units, suffix = "") {
  const size = Math.abs(value);
  let at = Math.max(0, units.findLastIndex((unit) => size >= unit.from));
  const next = units[at + 1];
  if (next && next.from === next.size && +significant(size / units[at].size) * units[at].size >= next.from) at++;
  const unit = units[at].name + suffix;
  return grouped(significant(value / units[at].size)) + (unit ? NBSP + unit : "");
}

function micros(value) {
  return scaled(value, WRITTEN.tables.times);
}

// What is not everything never reads as 100 %, nor what is not nothing as 0 %.
function share(value) {
  const percent = value * 100;
  let digits = Math.abs(percent) < 10 ? 2 : 1;
  while (percent < 100 && percent > 0 && digits < 6 && [0, 100].includes(+fixed(percent, digits))) digits++;
  return withoutZeroes(fixed(percent, digits)) + NBSP + WRITTEN.percent;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

// Seconds since the start; with the trace's own clock (UTC) where it has one.
function elapsed(seconds, epoch) {
  const whole = Math.max(0, seconds);
  const pad = (number) => String(Math.floor(number)).padStart(2, "0");
  if (epoch) {
    const date = new Date((epoch + seconds) * 1000);
    return `${DAYS[date.getUTCDay()]} ${date.toISOString().slice(0, 10)} ${date.toISOString().slice(11, 19)} UTC`;
  }
  if (whole < 120) return significant(whole, 4) + NBSP + "s";
  const clock = `${pad((whole / 3600) % 24)}:${pad((whole / 60) % 60)}:${pad(whole % 60)}`;
  return whole < 86400 ? clock : `day${NBSP}${Math.floor(whole / 86400) + 1}, ${clock}`;
}

const UNITS = {
  elapsed,
  micros,
  share,
  bytes: (value) => scaled(value, WRITTEN.tables.bytes),
  bytes_per_second: (value) => scaled(value, WRITTEN.tables.bytes, "/s"),
  per_second: (value) => scaled(value, WRITTEN.tables.counts, "/s"),
  count: (value) => scaled(value, WRITTEN.tables.counts),
  plain: (value) => (Math.abs(value) < 1e4 ? grouped(significant(value, 4)) : scaled(value, WRITTEN.tables.counts)),
};

const BINARY_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

// Steps between ticks of a time axis, in seconds: those that clocks have.
const CLOCK_STEPS = [
  ...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)),
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2419200,
];

// Ticks of a time axis: at whole steps of the trace's clock where it has one.
function clockSplits(min, max, step, epoch = 0) {
  const ticks = [];
  const first = Math.ceil((min + epoch) / step - 1e-9);
  for (let at = first; at * step - epoch <= max; at++) ticks.push(epoch ? at * step - epoch : +(at * step).toPrecision(12));
  return ticks;
}

// Their labels: short, and of one unit.
function clockTicks(ticks, step, epoch) {
  const pad = (number) => String(Math.floor(number + 1e-9)).padStart(2, "0");
  const last = ticks[ticks.length - 1] ?? 0;
  return ticks.map((seconds) => {
    if (epoch) {
      const date = new Date(Math.round((epoch + seconds) * 1e3));
      if (step >= 86400 || (last - ticks[0] >= 86400 && date.getTime() % 86400e3 === 0)) return `${DAYS[date.getUTCDay()]} ${date.getUTCDate()}`;
      return date.toISOString().slice(11, step >= 60 ? 16 : step >= 1 ? 19 : 23);
    }
    if (step >= 86400 || (last >= 2 * 86400 && seconds % 86400 === 0)) return `day ${Math.floor(seconds / 86400) + 1}`;
    if (last >= 7200) return `${pad((seconds / 3600) % 24)}:${pad((seconds / 60) % 60)}`;
    if (last >= 120) return step >= 60 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
    return micros(seconds * 1e6);
  });
}
