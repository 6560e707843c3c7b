// Numbers as people read them: three significant digits and a unit that keeps them short (as human.rs does).

const NBSP = "\u00a0";
const BYTE_STEPS = [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]];
const TIME_STEPS = [[1, "µs"], [1e3, "ms"], [1e6, "s"], [60e6, "min"], [3600e6, "h"], [86400e6, "days"]];
const TIME_FROM = [0, 1e3, 1e6, 120e6, 2 * 3600e6, 2 * 86400e6];
const COUNT_STEPS = [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]];

function significant(value, digits = 3) {
  if (value === 0) return "0";
  const decimals = Math.max(0, Math.min(9, digits - 1 - Math.floor(Math.log10(Math.abs(value)) + 1e-9)));
  const text = value.toFixed(decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value, steps, suffix = "") {
  let step = steps[0];
  for (const next of steps) if (Math.abs(value) * 1.0005 >= next[0]) step = next;
  const unit = step[1] + suffix;
  return significant(value / step[0]) + (unit ? NBSP + unit : "");
}

function micros(value) {
  let at = 0;
  TIME_FROM.forEach((from, index) => { if (Math.abs(value) * 1.0005 >= from) at = index; });
  return significant(value / TIME_STEPS[at][0]) + NBSP + TIME_STEPS[at][1];
}

function share(value) {
  const percent = value * 100;
  let digits = Math.abs(percent) < 10 ? 2 : 1;
  while (percent < 100 && percent > 0 && digits < 6 && [0, 100].includes(+percent.toFixed(digits))) digits++;
  return +percent.toFixed(digits) + NBSP + "%";
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
  bytes: (value) => scaled(value, BYTE_STEPS),
  bytes_per_second: (value) => scaled(value, BYTE_STEPS, "/s"),
  per_second: (value) => scaled(value, COUNT_STEPS, "/s"),
  count: (value) => scaled(value, COUNT_STEPS),
  plain: (value) => (Math.abs(value) < 1e4 ? significant(value, 4) : scaled(value, COUNT_STEPS)),
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
