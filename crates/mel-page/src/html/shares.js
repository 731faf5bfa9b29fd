// The share of the ranks that are in MPI over time, by what they do: as a curve above the timeline, and for the whole run as a strip
// that shows which part of it is seen.

import { duration, percent } from "./units.js";
import { color, hideTip, rowsOf, sharpCanvas, showTip } from "./dom.js";
import { lastBefore } from "./time.js";
import { LABELS } from "./lanes.js";

// What each class is called; the order is that in which shares are put upon each other.
export const CLASSES = {
  wait: "waits, receives, tests", collective: "collectives", send: "sends", post: "posts receives", one_sided: "one-sided", other: "other MPI",
  search_posted: "searches the posted queue", search_unexpected: "searches the unexpected queue", epoch: "epochs of windows", program_region: "regions of the program",
};
export const CLASS_NAMES = Object.keys(CLASSES);
export const classFill = (name) => color(name.replace("_", "-"));
const CURVE = 62, STRIP = 40;

// How much of its time a block is what it says: less than all where several are drawn together.
export function blockShare(row, i) {
  const several = row.manyOf.get(i);
  return several ? Math.min(1, several.busy_ns / (row.end[i] - row.start[i] || 1)) : 1;
}

// Of each class, the share of the rows (0 to 1) in each of so many equal parts of a time.
export function sharesOver(rows, from, to, parts) {
  const shares = CLASS_NAMES.map(() => null), scale = parts / (to - from);
  for (const row of rows) {
    for (let i = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to); i <= last; i++) {
      const a = Math.max(0, (row.start[i] - from) * scale), b = Math.min(parts, (row.end[i] - from) * scale);
      if (b <= a) continue;
      const place = row.classes[row.names[i]], weight = blockShare(row, i) / rows.length;
      // What covers a part whole is noted where it begins and ends, and summed up below.
      const of = shares[place] || (shares[place] = { part: new Float64Array(parts), steps: new Float64Array(parts + 1) });
      const first = Math.floor(a), end = Math.floor(b);
      if (first === end) of.part[first] += (b - a) * weight;
      else {
        of.part[first] += (first + 1 - a) * weight;
        if (end < parts) of.part[end] += (b - end) * weight;
        of.steps[first + 1] += weight;
        of.steps[end] -= weight;
      }
    }
  }
  return shares.map((of) => {
    if (!of) return null;
    let whole = 0;
    for (let i = 0; i < parts; i++) {
      whole += of.steps[i];
      of.part[i] = Math.max(0, of.part[i] + whole);
    }
    return of.part;
  });
}

// Draws shares upon each other.
export function drawShares(pen, shares, left, top, height) {
  const base = new Float64Array(shares.reduce((most, share) => Math.max(most, share ? share.length : 0), 0));
  shares.forEach((share, place) => {
    if (!share) return;
    pen.fillStyle = classFill(CLASS_NAMES[place]);
    share.forEach((value, i) => {
      if (value <= 0) return;
      pen.fillRect(left + i, top + height * (1 - Math.min(1, base[i] + value)), 1, height * Math.min(value, 1 - base[i]));
      base[i] = Math.min(1, base[i] + value);
    });
  });
}

// The whole run, with the part that is seen: drag it, its edges, or over another part. Starting the program takes long and shows
// little: that is there only while it is seen.
export class Overview {
  constructor(section, stretch, rows, begin) {
    Object.assign(this, { stretch, rows, begin, drawn: "" });
    section.insertAdjacentHTML("beforeend", `<canvas class="strip" role="img" aria-label="the whole run, and the part of it that is seen"></canvas>`);
    this.canvas = section.lastElementChild;
    stretch.hears.push(() => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(section);
    const time = (event) => {
      const share = (event.clientX - this.canvas.getBoundingClientRect().left - LABELS) / (this.width - LABELS);
      return this.first + Math.min(1, Math.max(0, share)) * (stretch.last - this.first);
    };
    let held = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      const at = time(event), near = (stretch.last - this.first) / (this.width - LABELS) * 6, { from, to } = stretch, whole = to - from >= (stretch.last - this.first) * 0.999;
      if (!whole && Math.abs(at - from) < near) held = { fixed: to };
      else if (!whole && Math.abs(at - to) < near) held = { fixed: from };
      else if (!whole && at > from && at < to) held = { offset: at - from, span: to - from };
      else held = { fixed: at };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      const at = time(event);
      if ("offset" in held) stretch.set(at - held.offset, at - held.offset + held.span);
      else if (Math.abs(at - held.fixed) > (stretch.last - this.first) / this.width * 3) stretch.set(Math.min(at, held.fixed), Math.max(at, held.fixed));
    });
    this.canvas.addEventListener("pointerup", () => { held = null; });
    this.canvas.addEventListener("dblclick", () => stretch.set(stretch.first, stretch.last));
  }
  redraw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw());
  }
  draw() {
    const width = this.canvas.parentElement.clientWidth, { last, from, to } = this.stretch, plot = width - LABELS;
    const first = this.first = from < this.begin ? this.stretch.first : this.begin, drawn = `${width} ${first}`;
    if (drawn !== this.drawn) this.shares = sharesOver(this.rows, first, last, Math.max(1, Math.floor(plot)));
    Object.assign(this, { width, drawn });
    const pen = sharpCanvas(this.canvas, width, STRIP), x = (time) => LABELS + (time - first) / (last - first) * plot;
    pen.fillStyle = color("panel");
    pen.fillRect(LABELS, 0, plot, STRIP);
    drawShares(pen, this.shares, LABELS, 0, STRIP);
    pen.fillStyle = color("ink");
    pen.fillText("whole run", 8, STRIP / 2 + 4);
    // What is not seen lies under a veil.
    const [left, right] = [x(from), Math.max(x(to), x(from) + 2)];
    pen.globalAlpha = 0.72;
    pen.fillStyle = color("paper");
    pen.fillRect(LABELS, 0, left - LABELS, STRIP);
    pen.fillRect(right, 0, width - right, STRIP);
    pen.globalAlpha = 1;
    pen.strokeStyle = color("ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 1), STRIP - 1.5);
  }
}

// What is seen: its shares as a curve, and for each class in numbers.
export class Curve {
  constructor(section, stretch, rows, what, tell) {
    Object.assign(this, { stretch, rows, what, tell, width: 0, shares: [] });
    section.insertAdjacentHTML("beforeend", `<canvas class="strip curve" role="img" aria-label="share of the ${what} in MPI over time"></canvas>`);
    this.canvas = section.lastElementChild;
    stretch.hears.push(() => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(section);
    this.canvas.addEventListener("mousemove", (event) => {
      const x = Math.floor(event.clientX - this.canvas.getBoundingClientRect().left - LABELS), plot = this.width - LABELS;
      if (x < 0 || x >= plot) return hideTip();
      const lines = this.shares.map((share, place) => share && share[x] > 0 ? [CLASSES[CLASS_NAMES[place]], percent(share[x])] : null).filter(Boolean);
      const all = this.shares.reduce((sum, share) => sum + (share ? share[x] : 0), 0);
      showTip(event, `<b>${percent(Math.min(1, all))} of the ${what} in MPI</b>` + rowsOf([["time", duration((stretch.from + (x + 0.5) / plot * (stretch.to - stretch.from)) * 1e-9, 6)], ...lines]));
    });
    this.canvas.addEventListener("mouseleave", hideTip);
  }
  redraw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw());
  }
  draw() {
    const width = this.width = this.canvas.parentElement.clientWidth, plot = Math.max(1, Math.floor(width - LABELS)), { from, to } = this.stretch;
    const pen = sharpCanvas(this.canvas, width, CURVE);
    this.shares = sharesOver(this.rows, from, to, plot);
    pen.fillStyle = color("panel");
    pen.fillRect(LABELS, 0, width - LABELS, CURVE);
    drawShares(pen, this.shares, LABELS, 0, CURVE);
    pen.fillStyle = color("ink");
    pen.fillText(this.what, 8, CURVE / 2 - 2);
    pen.fillText("in MPI", 8, CURVE / 2 + 12);
    pen.fillStyle = color("faint");
    pen.textAlign = "right";
    pen.fillText("100\u202f%", LABELS - 3, 9);
    pen.fillText("0", LABELS - 3, CURVE - 1);
    pen.textAlign = "left";
    this.tell(this.shares.map((share) => share ? share.reduce((sum, value) => sum + value, 0) / plot : 0));
  }
}
