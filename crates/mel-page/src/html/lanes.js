// Lanes below each other on a canvas, which scrolls, zooms with Ctrl and the wheel, moves with the mouse, and lets select; shaded where recording
// was off.

import { roundTicks, tickTexts } from "./units.js";
import { $, color, data, hideTip, sharpCanvas, showTip } from "./dom.js";
import { lastBefore, unpack } from "./time.js";

export const LABELS = 74;
export const AXIS = 24;
// The most pixels that lanes take; more are scrolled.
export const TALLEST = 620;

// `drawLane` draws a lane, `tipAt` has the text for a place in it. Of what else it can do: `over` draws above all lanes, `select` hears
// what is dragged over: times, and the first and last lane or none, then whether it is finished.
export class Lanes {
  constructor(section, stretch, heights, { drawLane, tipAt, label, over = null, select = null }) {
    Object.assign(this, { stretch, drawLane, tipAt, over, select, moves: !select });
    section.insertAdjacentHTML("beforeend", `<div class="scroll" tabindex="0" role="img" aria-label="${label}"><canvas></canvas><div class="space"></div></div>`);
    this.box = section.lastElementChild;
    this.canvas = $("canvas", this.box);
    this.setHeights(heights);
    stretch.hears.push(() => this.redraw());
    this.box.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.box);
    this.listen();
  }
  setHeights(heights) {
    Object.assign(this, { heights, tops: [] });
    this.height = heights.reduce((top, height) => { this.tops.push(top); return top + height; }, AXIS);
    this.shown = Math.ceil(Math.min(this.height + 4, TALLEST));
    $(".space", this.box).style.height = Math.max(0, this.height + 4 - this.shown) + "px";
    this.redraw();
  }
  time(x) {
    const { from, to } = this.stretch;
    return from + (x - LABELS) / (this.width - LABELS) * (to - from);
  }
  x(time) {
    const { from, to } = this.stretch;
    return LABELS + (time - from) / (to - from) * (this.width - LABELS);
  }
  // The lane at a height on the canvas; -1 if there is none.
  lane(y) {
    const at = y < AXIS ? -1 : y + this.box.scrollTop;
    return this.tops.findIndex((top, i) => at >= top && at < top + this.heights[i]);
  }
  listen() {
    const { box, canvas, stretch } = this;
    const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
    const height = (event) => event.clientY - canvas.getBoundingClientRect().top;
    box.addEventListener("wheel", (event) => {
      // The wheel scrolls as ever; with Ctrl or Shift it zooms.
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      stretch.zoom(Math.exp((event.deltaY || event.deltaX) * 0.002), this.time(Math.max(place(event), LABELS)));
    }, { passive: false });
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      const moves = this.moves !== event.shiftKey || !this.select || height(event) < AXIS || place(event) < LABELS || event.button === 1;
      held = { x: place(event), y: height(event), from: stretch.from, to: stretch.to, moves, dragged: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return this.point(event, place(event), height(event));
      hideTip();
      if (held.moves) {
        const by = (held.x - place(event)) / (this.width - LABELS) * (held.to - held.from);
        return stretch.set(held.from + by, held.to + by);
      }
      held.dragged = held.dragged || Math.abs(place(event) - held.x) > 3;
      if (held.dragged) this.selects(held, place(event), height(event), false);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moves) {
        if (held.dragged) this.selects(held, place(event), height(event), true);
        else this.select(null, null, true);
      }
      held = null;
    });
    canvas.addEventListener("pointerleave", () => { if (!held) hideTip(); });
    canvas.addEventListener("dblclick", (event) => stretch.zoom(0.25, this.time(Math.max(place(event), LABELS))));
    box.addEventListener("keydown", (event) => {
      const does = { "+": () => stretch.zoom(0.5), "-": () => stretch.zoom(2), "0": () => stretch.set(stretch.first, stretch.last),
        ArrowLeft: () => stretch.move(-0.2), ArrowRight: () => stretch.move(0.2),
        Escape: () => this.select && this.select(null, null, true) }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    });
  }
  // Dragged sideways: all lanes. Dragged over a box: those in it.
  selects(held, x, y, finished) {
    const times = [held.x, x].map((at) => this.time(Math.min(Math.max(at, LABELS), this.width))).sort((a, b) => a - b);
    const inside = (at) => this.lane(Math.min(Math.max(at, AXIS), this.shown - 5));
    const lanes = Math.abs(y - held.y) < 12 ? null : [inside(held.y), inside(y)].map((lane) => lane < 0 ? this.tops.length - 1 : lane).sort((a, b) => a - b);
    this.select(times, lanes, finished);
  }
  point(event, x, y) {
    const lane = this.lane(y);
    const text = lane >= 0 && x >= LABELS ? this.tipAt(lane, this.time(x), y + this.box.scrollTop - this.tops[lane], this) : "";
    if (text) showTip(event, text);
    else hideTip();
  }
  redraw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw());
  }
  draw() {
    const width = this.width = this.box.clientWidth, pen = sharpCanvas(this.canvas, width, this.shown);
    const ticks = roundTicks(this.stretch.from, this.stretch.to, Math.max(2, Math.floor((width - LABELS) / 120)));
    pen.fillStyle = color("grid");
    for (const tick of ticks) pen.fillRect(this.x(tick), AXIS - 4, 1, this.shown);
    this.labelled = -Infinity;
    this.tops.forEach((top, i) => {
      const y = top - this.box.scrollTop;
      if (y + this.heights[i] > AXIS && y < this.shown) this.drawLane(pen, i, y, this);
    });
    if (this.over) {
      pen.save();
      pen.beginPath();
      pen.rect(LABELS, AXIS, width - LABELS, this.shown - AXIS);
      pen.clip();
      this.over(pen, this);
      pen.restore();
    }
    pen.fillStyle = color("panel");
    pen.fillRect(0, 0, width, AXIS - 4);
    pen.fillStyle = color("faint");
    pen.textAlign = "center";
    const texts = tickTexts(ticks.map((t) => t * 1e-9), true);
    ticks.forEach((tick, i) => {
      const half = pen.measureText(texts[i]).width / 2, at = this.x(tick);
      if (at - half > LABELS - 4 && at + half < width - 2) pen.fillText(texts[i], at, 14);
    });
    pen.textAlign = "left";
    pen.fillText("time", 8, 14);
  }
  // The name of a rank beside its lane, where there is room for it.
  label(pen, text, y, height) {
    const base = height > 14 ? y + height - 5 : Math.max(y + height - 2, y + 7);
    if (base - this.labelled < 12) return;
    this.labelled = base;
    pen.fillStyle = color("ink");
    pen.fillText(text, 8, base);
  }
}
// Where recording was off, by rank.
export function pausesByRank() {
  return new Map(data.events.pauses.map((row) => {
    const full = Object.assign(unpack(row), { longest: 0 });
    full.longest = full.end.reduce((most, end, i) => Math.max(most, end - full.start[i]), 0);
    return [row.rank, full];
  }));
}
// Stripes, which no colour of a call is taken for.
function stripes(pen) {
  const tile = document.createElement("canvas"), side = 8;
  tile.width = tile.height = side;
  const brush = tile.getContext("2d");
  brush.strokeStyle = color("paused");
  brush.lineWidth = 2;
  for (const by of [-side, 0, side]) {
    brush.beginPath();
    brush.moveTo(by - 1, side + 1);
    brush.lineTo(by + side + 1, -1);
    brush.stroke();
  }
  return pen.createPattern(tile, "repeat");
}
// Draws these over a lane, above what is there if that is to be covered.
export function drawPauses(pen, row, y, height, view, covers) {
  if (!row) return;
  const { from, to } = view.stretch, fills = covers ? [color("panel"), stripes(pen)] : [stripes(pen)];
  for (let i = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to); i <= last; i++) {
    const left = Math.max(view.x(row.start[i]), LABELS), right = Math.min(view.x(row.end[i]), view.width);
    if (right < LABELS || left > view.width) continue;
    for (const fill of fills) {
      pen.fillStyle = fill;
      pen.fillRect(left, y, Math.max(right - left, 1), height);
    }
  }
}
// The pause at a time: its beginning and end; null if there is none.
export function pauseAt(row, time) {
  const i = row ? lastBefore(row.start, time) : -1;
  return i >= 0 && time < row.end[i] ? [row.start[i], row.end[i]] : null;
}
export const PAUSED = "recording off";
export const pausedLegend = (text) => `<span><i class="paused"></i>${text}</span>`;
