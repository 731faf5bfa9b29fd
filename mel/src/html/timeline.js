// The timeline of calls and searches, and the lengths of the queues below it. Both show the same stretch of time.

const CLASSES = {
  wait: "waits, receives, tests", send: "sends", post: "posts receives", collective: "collectives", one_sided: "one-sided", other: "other MPI",
  search_posted: "searches the posted queue", search_unexpected: "searches the unexpected queue", epoch: "epochs of windows",
};
const OPERATIONS = ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];
// Numbers of each message and operation among the attributes of a call.
const GROUP = 6;
const LABELS = 74, AXIS = 24;

// The stretch of time that is shown, in nanoseconds.
class Stretch {
  constructor(from, to) {
    Object.assign(this, { first: from, last: to, from, to, hears: [] });
  }
  set(from, to) {
    const least = 50, span = Math.min(Math.max(to - from, least), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - span);
    this.to = this.from + span;
    this.hears.forEach((hear) => hear());
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.set(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  move(share) {
    const by = (this.to - this.from) * share;
    this.set(this.from + by, this.to + by);
  }
}

// From columns of differences to arrays that can be searched.
function unpack(columns) {
  const start = new Float64Array(columns.steps.length), end = new Float64Array(columns.steps.length);
  let at = 0;
  columns.steps.forEach((step, i) => {
    at += step;
    start[i] = at;
    end[i] = at + columns.durations[i];
  });
  return { ...columns, start, end };
}

// The last index whose start is at most the time; -1 if there is none.
function lastBefore(start, time) {
  let low = 0, high = start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// A canvas that shows rows below each other, scrolls, zooms with the wheel and moves with the mouse.
class Lanes {
  constructor(section, stretch, heights, drawLane, tipAt, label) {
    Object.assign(this, { stretch, heights, drawLane, tipAt });
    section.insertAdjacentHTML("beforeend", `<div class="scroll" tabindex="0" role="img" aria-label="${label}"><canvas></canvas><div class="space"></div></div>`);
    this.box = section.lastElementChild;
    this.canvas = $("canvas", this.box);
    this.tops = [];
    this.height = heights.reduce((top, height) => { this.tops.push(top); return top + height; }, AXIS);
    this.shown = Math.min(this.height + 4, 620);
    $(".space", this.box).style.height = Math.max(0, this.height + 4 - this.shown) + "px";
    stretch.hears.push(() => this.redraw());
    this.box.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.box);
    this.listen();
  }
  time(x) {
    const { from, to } = this.stretch;
    return from + (x - LABELS) / (this.width - LABELS) * (to - from);
  }
  x(time) {
    const { from, to } = this.stretch;
    return LABELS + (time - from) / (to - from) * (this.width - LABELS);
  }
  listen() {
    const { box, canvas, stretch } = this;
    const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
    box.addEventListener("wheel", (event) => {
      // The page scrolls as ever; with Ctrl or Shift, or where nothing is to be scrolled here, the wheel zooms.
      if (!event.ctrlKey && !event.shiftKey && this.height > this.shown) return;
      event.preventDefault();
      stretch.zoom(Math.exp((event.deltaY || event.deltaX) * 0.002), this.time(Math.max(place(event), LABELS)));
    }, { passive: false });
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: place(event), from: stretch.from, to: stretch.to };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const by = (held.x - place(event)) / (this.width - LABELS) * (held.to - held.from);
        stretch.set(held.from + by, held.to + by);
        return hideTip();
      }
      const y = event.clientY - canvas.getBoundingClientRect().top + (event.clientY < canvas.getBoundingClientRect().top + AXIS ? -1e9 : box.scrollTop);
      const lane = this.tops.findIndex((top, i) => y >= top && y < top + this.heights[i]);
      const text = lane >= 0 && place(event) >= LABELS ? this.tipAt(lane, this.time(place(event)), y - this.tops[lane], this) : "";
      if (text) showTip(event, text);
      else hideTip();
    });
    canvas.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointerleave", () => { if (!held) hideTip(); });
    canvas.addEventListener("dblclick", (event) => stretch.zoom(0.25, this.time(Math.max(place(event), LABELS))));
    box.addEventListener("keydown", (event) => {
      const does = { "+": () => stretch.zoom(0.5), "-": () => stretch.zoom(2), "0": () => stretch.set(stretch.first, stretch.last),
        ArrowLeft: () => stretch.move(-0.2), ArrowRight: () => stretch.move(0.2) }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    });
  }
  redraw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw());
  }
  draw() {
    const ratio = devicePixelRatio || 1, width = this.width = this.box.clientWidth;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(this.shown * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.shown * ratio);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = this.shown + "px";
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, this.shown);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    const ticks = roundTicks(this.stretch.from, this.stretch.to, Math.max(2, Math.floor((width - LABELS) / 120)));
    pen.fillStyle = color("grid");
    for (const tick of ticks) pen.fillRect(this.x(tick), AXIS - 4, 1, this.shown);
    this.tops.forEach((top, i) => {
      const y = top - this.box.scrollTop;
      if (y + this.heights[i] > AXIS && y < this.shown) this.drawLane(pen, i, y, this);
    });
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
}

// What is known of a slice, as the text of its tooltip.
function sliceTip(row, i) {
  const events = data.events, name = events.names[row.names[i]], several = row.manyOf.get(i);
  const lines = [["rank", row.rank + (row.thread && row.kind === "calls" ? `, thread ${row.thread}` : "")], ["begins", duration(row.start[i] * 1e-9, 9)]];
  const attributes = row.attributesOf.get(i), site = row.sites[i] ? events.sites[row.sites[i] - 1] : "";
  if (several) {
    const [, number, busy, longest] = several;
    lines.push(["drawn together", `${count(number)} within ${duration((row.end[i] - row.start[i]) * 1e-9)}`],
      ["take together", duration(busy * 1e-9)], ["the longest", `${name.name}, ${duration(longest * 1e-9)}`]);
    if (site) lines.push(["which is called at", site]);
    return `<b>${count(number)} ${row.kind}</b>` + rowsOf(lines);
  }
  lines.push(["takes", duration((row.end[i] - row.start[i]) * 1e-9)]);
  if (site) lines.push(["called at", site]);
  const comm = (number) => number >= 0 ? events.communicators[number] : "unknown";
  if (attributes && row.kind === "epochs") {
    const [target, window, operations, size] = attributes;
    lines.push(["window", window], ["target", target < 0 ? "all" : `rank ${target}`], ["operations", `${count(operations)}, ${bytes(size)}`]);
  } else if (attributes && row.kind === "searches") {
    name.elements.forEach((element, e) => lines.push([element, attributes[e] === -1 && /^(source|tag)$/.test(element) ? "any" : attributes[e]]));
    lines.push(["communicator", comm(attributes[name.elements.length])]);
  } else if (attributes) {
    for (let a = 0; a + GROUP <= attributes.length; a += GROUP) {
      const [what, peer, tag, size, on, waited] = attributes.slice(a, a + GROUP);
      if (what === 2) {
        if (peer >= 0) lines.push(["root", `rank ${peer}`]);
        lines.push(["sends", bytes(size)], ["receives", bytes(tag)], ["communicator", comm(on)]);
      } else if (what === 9) {
        lines.push(["completes", peer === 1 ? "1 operation" : `${count(peer)} operations`], [peer === 1 ? "it took" : "the longest took", duration(tag * 1e-9)]);
      } else if (what > 2) {
        lines.push([OPERATIONS[what - 3], `rank ${peer}, ${bytes(size)}, window ${tag}`]);
      } else {
        lines.push([what ? "sent to" : "received from", `rank ${peer}, tag ${tag}, ${bytes(size)}, ${comm(on)}`]);
        if (waited) lines.push(["was unexpected for", duration(waited * 1e-9)]);
      }
    }
    if (attributes.length % GROUP === 1) lines.push([row.attributesOf.get(i)[0] > 2 ? "operations" : "messages", `${attributes[attributes.length - 1]} in all`]);
  }
  return `<b>${escape(name.name)}</b>` + rowsOf(lines);
}

// Where recording was off, by rank.
function pausesByRank() {
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
function drawPauses(pen, row, y, height, view, covers) {
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
function pauseAt(row, time) {
  const i = row ? lastBefore(row.start, time) : -1;
  return i >= 0 && time < row.end[i] ? [row.start[i], row.end[i]] : null;
}
const PAUSED = "recording off";
const pausedLegend = (text) => `<span><i class="paused"></i>${text}</span>`;

const HINT = "Drag to move; double-click, Ctrl and wheel, or the keys + \u2212 0 \u2190 \u2192 to zoom; point at a block for its attributes.";

function timelineSection(section, stretch) {
  const events = data.events, ranks = [...new Set(events.rows.map((row) => row.rank))];
  const [call, search, epoch, gap] = ranks.length <= 24 ? [18, 10, 15, 8] : [12, 7, 9, 5];
  const tall = { calls: call, searches: search, epochs: epoch };
  const rows = events.rows.map((row) => Object.assign(unpack(row), {
    manyOf: new Map(row.several.map((s) => [s[0], s])), attributesOf: new Map(row.attributes),
  }));
  rows.forEach((row) => { row.longest = row.end.reduce((most, end, i) => Math.max(most, end - row.start[i]), 0); });
  const pauses = pausesByRank();
  const heights = rows.map((row, i) => tall[row.kind] + (i + 1 < rows.length && rows[i + 1].rank === row.rank ? 1 : gap));
  const together = Math.max(...rows.map((row) => row.resolution_ns), 0);
  const used = new Set(rows.flatMap((row) => [...new Set(row.names)].map((n) => events.names[n].class)));
  section.insertAdjacentHTML("beforeend", `<p class="note">The MPI calls of each rank above the searches of its queues${used.has("epoch") ? " and the epochs of its windows" : ""}. ${HINT}` +
    (together ? ` This run has more than a page can hold: calls within ${duration(together * 1e-9)} of each other are drawn together, paler where time between them is not spent in MPI; <code>--from</code> and <code>--to</code> show a part of the run in full.` : "") +
    (events.hidden_ranks ? ` ${events.hidden_ranks} ranks in between are left out.` : "") + `</p>` +
    `<div class="controls"><button data-zoom="0.5">zoom in</button><button data-zoom="2">zoom out</button><button data-zoom="all">whole run</button>` +
    `<span class="legend">${Object.keys(CLASSES).filter((c) => used.has(c)).map((c) => `<span><i style="background:var(--${c.replace("_", "-")})"></i>${CLASSES[c]}</span>`).join("")}${pauses.size ? pausedLegend(PAUSED) : ""}</span></div>`);
  section.addEventListener("click", (event) => {
    const zoom = event.target.dataset.zoom;
    if (zoom) zoom === "all" ? stretch.set(stretch.first, stretch.last) : stretch.zoom(Number(zoom));
  });
  const draw = (pen, lane, y, view) => {
    const row = rows[lane], height = tall[row.kind], { from, to } = stretch;
    if (lane === 0 || rows[lane - 1].rank !== row.rank) {
      pen.fillStyle = color("ink");
      pen.fillText(`rank ${row.rank}`, 8, y + height - (height > 14 ? 5 : 2));
    }
    drawPauses(pen, pauses.get(row.rank), y, heights[lane] - (lane + 1 < rows.length && rows[lane + 1].rank === row.rank ? 0 : gap), view, false);
    const fills = events.names.map((name) => color(name.class.replace("_", "-")));
    const first = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to);
    // What is narrower than a pixel shares it: the one that takes longest gives the colour, all together its strength.
    const least = row.kind === "searches" ? 0.7 : 0.3, pixel = { at: -1, busy: 0, longest: 0, name: 0 };
    const rect = (left, width, name, strength) => {
      pen.globalAlpha = least + (1 - least) * Math.min(1, strength);
      pen.fillStyle = fills[name];
      pen.fillRect(left, y, width, height);
    };
    const flush = () => { if (pixel.at >= LABELS) rect(pixel.at, 1, pixel.name, pixel.busy); };
    for (let i = first; i <= last; i++) {
      if (row.end[i] < from) continue;
      const left = view.x(row.start[i]), right = view.x(row.end[i]), name = row.names[i], several = row.manyOf.get(i);
      const share = several ? several[2] / (row.end[i] - row.start[i] || 1) : 1;
      if (right - left < 1) {
        if (Math.floor(left) !== pixel.at) {
          flush();
          Object.assign(pixel, { at: Math.floor(left), busy: 0, longest: 0 });
        }
        const longest = several ? several[3] : row.end[i] - row.start[i];
        pixel.busy += (right - left) * share;
        if (longest >= pixel.longest) Object.assign(pixel, { longest, name });
        continue;
      }
      flush();
      pixel.at = -1;
      const x = Math.max(left, LABELS), wide = Math.min(right, view.width) - x;
      if (wide <= 0) continue;
      rect(x, wide > 3 ? wide - 0.5 : wide, name, share);
      const text = events.names[name].name;
      if (wide > 60 && height > 14 && !several && pen.measureText(text).width < wide - 8) {
        pen.fillStyle = ["send", "post", "one_sided"].includes(events.names[name].class) ? "#1b1f24" : color(events.names[name].class === "epoch" ? "ink" : "paper");
        pen.fillText(text, x + 4, y + height - (height > 15 ? 5 : 4));
      }
    }
    flush();
    pen.globalAlpha = 1;
  };
  const tipAt = (lane, time, _, view) => {
    const row = rows[lane], reach = (view.time(LABELS + 3) - view.time(LABELS));
    let best = -1, nearest = reach;
    for (let i = lastBefore(row.start, time + reach), n = 0; i >= 0 && n < 400; i--, n++) {
      const away = Math.max(0, row.start[i] - time, time - row.end[i]);
      if (away < nearest || (away === 0 && best < 0)) [best, nearest] = [i, away];
      if (away === 0 || row.start[i] < time - row.longest - reach) break;
    }
    if (best >= 0) return sliceTip(row, best);
    const pause = pauseAt(pauses.get(row.rank), time);
    return pause ? `<b>${PAUSED}</b>` + rowsOf([["rank", row.rank], ["begins", duration(pause[0] * 1e-9, 9)], ["takes", duration((pause[1] - pause[0]) * 1e-9)]]) : "";
  };
  const lanes = new Lanes(section, stretch, heights, draw, tipAt, "timeline of MPI calls and queue searches");
  if (lanes.height > lanes.shown) $(".note", section).insertAdjacentText("beforeend", ` Scroll in it for all ${ranks.length} ranks.`);
  // What is shown can be read from outside, too.
  const tell = () => Object.assign(section.dataset, { from: stretch.from, to: stretch.to });
  stretch.hears.push(tell);
  tell();
  stretch.set(events.first_look_ns, stretch.last);
  return (rank) => {
    const lane = rows.findIndex((row) => row.rank === rank);
    lanes.box.scrollTop = Math.max(0, (lanes.tops[lane] || 0) - 200);
  };
}

function lengthsSection(section, stretch) {
  const ranks = data.events.lengths.map((of) => ({ rank: of.rank, posted: unpack(of.posted), unexpected: unpack(of.unexpected) }));
  const pauses = pausesByRank();
  const longest = (queue) => ranks.reduce((most, of) => of[queue].most.reduce((a, b) => Math.max(a, b), most), 0);
  const most = { posted: longest("posted"), unexpected: longest("unexpected") }, all = Math.max(most.posted, most.unexpected, 1);
  const height = ranks.length <= 12 ? 48 : ranks.length <= 32 ? 32 : 22, gap = 6;
  section.insertAdjacentHTML("beforeend", `<p class="note">Entries in the queues of each rank, all communicators together: posted receives upwards, unexpected messages downwards, all ranks to one scale (each half: ${count(all)}). Longest: ${many(most.posted, "posted receive")}, ${many(most.unexpected, "unexpected message")}. It moves and zooms with the timeline.</p>` +
    `<div class="legend"><span><i style="background:var(--search-posted)"></i>posted receives</span><span><i style="background:var(--search-unexpected)"></i>unexpected messages</span>${pauses.size ? pausedLegend(`${PAUSED}: not known`) : ""}</div>`);
  const half = (pen, steps, base, scale, view) => {
    let drawn = -1e9, tallest = 0;
    const rect = (from, to, value) => {
      const left = Math.max(view.x(from), LABELS), right = Math.min(view.x(to), view.width);
      if (value === 0 || right < LABELS || left > view.width) return;
      // Within a pixel the longest is seen.
      if (Math.floor(left) > drawn) [drawn, tallest] = [Math.floor(left), 0];
      if (right - left < 1 && value <= tallest) return;
      tallest = Math.max(tallest, value);
      pen.fillRect(left, base, Math.max(right - left, 1), value * scale);
    };
    for (let i = Math.max(0, lastBefore(steps.start, stretch.from)); i < steps.start.length && steps.start[i] <= stretch.to; i++) {
      rect(steps.start[i], steps.end[i], steps.most[i]);
      rect(steps.end[i], i + 1 < steps.start.length ? steps.start[i + 1] : stretch.last, steps.last[i]);
    }
  };
  const draw = (pen, lane, y, view) => {
    const of = ranks[lane], middle = y + (height - gap) / 2, scale = (height - gap) / 2 / all;
    pen.fillStyle = color("ink");
    pen.fillText(`rank ${of.rank}`, 8, middle + 4);
    if (height >= 32) {
      pen.fillStyle = color("faint");
      pen.textAlign = "right";
      pen.fillText(count(all), LABELS - 4, y + 9);
      pen.fillText(count(all), LABELS - 4, y + height - gap);
      pen.textAlign = "left";
    }
    pen.fillStyle = color("line");
    pen.fillRect(LABELS, middle, view.width - LABELS, 1);
    pen.fillStyle = color("search-posted");
    half(pen, of.posted, middle, -scale, view);
    pen.fillStyle = color("search-unexpected");
    half(pen, of.unexpected, middle + 1, scale, view);
    drawPauses(pen, pauses.get(of.rank), y, height - gap + 1, view, true);
  };
  const at = (steps, time) => {
    const i = lastBefore(steps.start, time);
    return i < 0 ? 0 : time < steps.end[i] ? `at most ${steps.most[i]}` : steps.last[i];
  };
  const tipAt = (lane, time) => {
    const { rank, posted, unexpected } = ranks[lane], paused = pauseAt(pauses.get(rank), time);
    const told = (steps) => paused ? `not known: ${PAUSED}` : at(steps, time);
    return `<b>rank ${rank}</b>` + rowsOf([["time", duration(time * 1e-9, 6)], ["posted receives", told(posted)], ["unexpected messages", told(unexpected)]]);
  };
  new Lanes(section, stretch, ranks.map(() => height), draw, tipAt, "length of the message queues over time");
}
