// Numbers and durations as text, and the ticks of axes.

// A duration in seconds, in the unit that suits it, with so many significant digits.
export function duration(seconds, digits = 3) {
  if (seconds === null || seconds === undefined) return "none";
  if (seconds === 0) return "0";
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"], [1e-9, "ns"]];
  const [scale, unit] = units.find(([scale]) => Math.abs(seconds) >= scale * 0.9995) || units[3];
  return Number((seconds / scale).toPrecision(digits)) + "\u202f" + unit;
}

// A number: a small one with three digits, as a pace has it.
const digits = (value) => Number(Math.abs(value) < 100 ? value.toPrecision(3) : value.toFixed(1));
export const count = (value) => value === null ? "none" : digits(value).toLocaleString("en").replace(/,/g, "\u202f");
export const many = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
export const bytes = (value) => {
  const unit = value >= 1 << 30 ? [1 << 30, "GiB"] : value >= 1 << 20 ? [1 << 20, "MiB"] : value >= 10240 ? [1024, "KiB"] : [1, "B"];
  return Number((value / unit[0]).toPrecision(4)) + "\u202f" + unit[1];
};
export const told = (value, seconds) => seconds ? duration(value) : count(value);

// Round numbers from low to high, about so many.
export function roundTicks(low, high, about) {
  const span = high - low || 1, rough = span / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= about * 1.01);
  const ticks = [], first = Math.ceil(low / step - 1e-9);
  // At most so many: far from zero, a number may be too coarse to count up.
  for (let i = 0; i < 100 && (first + i) * step <= high + step * 1e-9; i++) ticks.push((first + i) * step);
  return ticks;
}

// The texts of ticks that belong together: one unit for all, as many digits as tell them apart.
export function tickTexts(ticks, seconds) {
  const largest = Math.max(...ticks.map(Math.abs), 0);
  if (!seconds) {
    const [scale, suffix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([s]) => largest >= s && largest >= 2e4) || [1, ""];
    return ticks.map((tick) => tick ? Number((tick / scale).toPrecision(4)) + suffix : "0");
  }
  const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"], [1e-9, "ns"]].find(([s]) => largest >= s * 0.9995) || [1e-9, "ns"];
  if (ticks.length === 1) return [Number((ticks[0] / scale).toPrecision(4)) + "\u202f" + unit];
  const step = ticks.length > 1 ? (ticks[1] - ticks[0]) / scale : 1;
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return ticks.map((tick) => (tick / scale).toFixed(digits) + "\u202f" + unit);
}

// Of values that differ by less one tick tells enough.
const SAME = 1e-4;

// From values to positions: straight, or by powers of ten.
export function scaleOf(low, high, from, to, logarithmic) {
  if (logarithmic) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const at = (value) => from + (Math.log10(Math.max(value, low)) - a) / (b - a || 1) * (to - from);
    const ticks = [];
    for (let power = Math.ceil(a - 1e-9), by = Math.ceil((b - a) / 5) || 1; power <= b + 1e-9; power += by) ticks.push(10 ** power);
    return { at, ticks };
  }
  const at = (value) => from + (value - low) / (high - low || 1) * (to - from);
  const same = high > low && high - low < SAME * Math.max(Math.abs(low), Math.abs(high));
  return { at, ticks: same ? [(low + high) / 2] : roundTicks(low, high, 5) };
}
export const percent = (share) => {
  const value = share * 100;
  return (value === 0 ? "0" : value < 0.01 ? "< 0.01" : Number(value.toPrecision(value < 10 ? 2 : 3))) + "\u202f%";
};
export const seconds = (ns) => duration(ns * 1e-9);

// A number in few characters.
export const short = (value) => value >= 1e4 ? Number((value / 10 ** (3 * Math.floor(Math.log10(value) / 3))).toPrecision(3)) + ["", "k", "M", "G", "T", "P"][Math.floor(Math.log10(value) / 3)] : String(Number(value.toPrecision(4)));
