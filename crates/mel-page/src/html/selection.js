// What is selected in the timeline, in numbers: time by function, time by rank, messages.

import { bytes, count, duration, percent, seconds } from "./units.js";
import { color, data, escape } from "./dom.js";
import { withBar } from "./tables.js";
import { lastBefore } from "./time.js";
import { AXIS } from "./lanes.js";

const LINES_OF_SELECTION = 12;

// Sums over the rows of some ranks, from a time to another. Of a block that lies only partly in it, that part counts.
export function selectedSums(rows, from, to) {
  const names = new Map(), ranks = new Map();
  let together = false;
  for (const row of rows.filter((row) => row.kind === "calls" || row.kind === "searches")) {
    const rank = ranks.get(row.rank) || ranks.set(row.rank, { rank: row.rank, threads: 0, calls: 0, mpi: 0, search: 0 }).get(row.rank);
    if (row.kind === "calls") rank.threads++;
    for (let i = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to); i <= last; i++) {
      const inside = Math.min(to, row.end[i]) - Math.max(from, row.start[i]), whole = row.end[i] - row.start[i];
      if (inside < 0 || (inside === 0 && whole > 0)) continue;
      const several = row.manyOf.get(i), part = whole ? inside / whole : 1;
      const busy = several ? several.busy_ns * part : inside, number = several ? several.count * part : 1;
      together = together || Boolean(several);
      const name = names.get(row.names[i]) || names.set(row.names[i], { name: row.names[i], number: 0, busy: 0, search: row.kind === "searches" }).get(row.names[i]);
      name.number += number;
      name.busy += busy;
      rank[row.kind === "calls" ? "mpi" : "search"] += busy;
      if (row.kind === "calls") rank.calls += number;
    }
  }
  return { names: [...names.values()].sort((a, b) => a.search - b.search || b.busy - a.busy), ranks: [...ranks.values()], together };
}

// Messages by sender and receiver that some ranks have sent or received in a time.
function selectedMessages(arrows, chosen, from, to) {
  const within = (rank, time) => chosen.has(rank) && time >= from && time <= to;
  const all = { sent: [0, 0], received: [0, 0], pairs: new Map() };
  arrows.start.forEach((start, i) => {
    const sent = within(arrows.from[i], start), received = within(arrows.to[i], arrows.end[i]);
    for (const of of [sent && all.sent, received && all.received].filter(Boolean)) {
      of[0] += arrows.every;
      of[1] += arrows.bytes[i] * arrows.every;
    }
    if (!sent && !received) return;
    const key = `${arrows.from[i]} \u2192 ${arrows.to[i]}`, pair = all.pairs.get(key) || all.pairs.set(key, { key, number: 0, bytes: 0 }).get(key);
    pair.number += arrows.every;
    pair.bytes += arrows.bytes[i] * arrows.every;
  });
  return all;
}

function selectionTables(rows, arrows, [from, to]) {
  const events = data.events, span = to - from, { names, ranks, together } = selectedSums(rows, from, to);
  const all = ranks.reduce((sum, rank) => sum + rank.threads, 0) * span || 1, about = together ? "\u2248\u202f" : "";
  const table = (heads, lines) => `<table class="data"><tr>${heads.map((head) => `<th>${head}</th>`).join("")}</tr>${lines.map((line) => `<tr>${line.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("")}</table>`;
  const swatch = (name) => `<i class="swatch" style="background:var(--${events.names[name].class.replace("_", "-")})"></i>`;
  const most = Math.max(...names.map((name) => name.busy), 1);
  const functions = table(["function or search", "number", "time", "share", "mean"], names.slice(0, LINES_OF_SELECTION).map(({ name, number, busy }) =>
    [swatch(name) + escape(events.names[name].name), about + count(Math.round(number)), withBar(seconds(busy), busy / most), percent(busy / all), seconds(busy / (number || 1))]));
  // Many ranks: those most and those least in MPI.
  const sorted = ranks.length > LINES_OF_SELECTION ? ranks.sort((a, b) => b.mpi / (b.threads || 1) - a.mpi / (a.threads || 1)) : ranks;
  const half = LINES_OF_SELECTION / 2, shown = sorted.length > LINES_OF_SELECTION ? [...sorted.slice(0, half), null, ...sorted.slice(-half)] : sorted;
  const byRank = table(["", "in MPI", "calls", "searches"], shown.map((rank) => rank ? [`rank ${rank.rank}`, withBar(percent(rank.mpi / (rank.threads * span || 1)), rank.mpi / (rank.threads * span || 1)), about + count(Math.round(rank.calls)), seconds(rank.search)]
    : [`${sorted.length - LINES_OF_SELECTION} ranks between`, "", "", ""]));
  if (!arrows) return functions + byRank;
  const messages = selectedMessages(arrows, new Set(ranks.map((rank) => rank.rank)), from, to), sample = arrows.every > 1 ? "\u2248\u202f" : "";
  const line = (what, [number, size]) => [what, sample + count(number), sample + bytes(size)];
  const pairs = [...messages.pairs.values()].sort((a, b) => b.number - a.number || b.bytes - a.bytes);
  return functions + byRank + table(["messages", "number", "bytes"], [line("sent", messages.sent), line("received", messages.received), ...pairs.slice(0, LINES_OF_SELECTION - 2).map((pair) => line(pair.key, [pair.number, pair.bytes]))]);
}

// The panel below the timeline.
export class Selection {
  constructor(section, rows, arrows, stretch, redraw) {
    Object.assign(this, { rows, arrows, stretch, redraw, times: null, lanes: null });
    section.insertAdjacentHTML("beforeend", `<div class="selection panel" hidden></div>`);
    this.panel = section.lastElementChild;
    this.panel.addEventListener("click", (event) => {
      if ("clear" in event.target.dataset) this.set(null, null, true);
      if ("into" in event.target.dataset) stretch.set(...this.times);
    });
  }
  // Times, and the first and last lane; none for all.
  set(times, lanes, finished) {
    Object.assign(this, { times, lanes });
    this.redraw();
    if (!finished) return;
    this.panel.hidden = !times;
    if (!times) return;
    // A rank is selected whole, with its searches.
    const ranks = new Set((lanes ? this.rows.slice(lanes[0], lanes[1] + 1) : this.rows).map((row) => row.rank)), rows = this.rows.filter((row) => ranks.has(row.rank));
    const numbers = [...ranks], which = !lanes ? "all ranks" : numbers.length === 1 ? `rank ${numbers[0]}` : `ranks ${numbers[0]} to ${numbers[numbers.length - 1]}`;
    this.panel.innerHTML = `<div class="controls"><b>Selected: ${seconds(times[1] - times[0])} from ${duration(times[0] * 1e-9, 6)}, ${which}</b><button data-into>zoom to it</button><button data-clear>clear</button></div>` +
      `<div class="beside">${selectionTables(rows, this.arrows, times)}</div>`;
  }
  draw(pen, view) {
    if (!this.times) return;
    const [left, right] = this.times.map((time) => view.x(time)), lanes = this.lanes || [0, view.tops.length - 1];
    const top = Math.max(AXIS, view.tops[lanes[0]] - view.box.scrollTop), bottom = view.tops[lanes[1]] + view.heights[lanes[1]] - view.box.scrollTop;
    pen.fillStyle = pen.strokeStyle = color("ink");
    pen.globalAlpha = 0.1;
    pen.fillRect(left, top, right - left, bottom - top);
    pen.globalAlpha = 0.8;
    pen.lineWidth = 1;
    pen.strokeRect(left, top + 0.5, right - left, bottom - top - 1);
    pen.globalAlpha = 1;
  }
}
