// The timeline of calls, searches and epochs, with messages as arrows. How high a colour stands in a lane is its share of the time there.

import { bytes, count, duration, many, percent } from "./units.js";
import { $, color, data, escape, rowsOf, rowsOfTable } from "./dom.js";
import { lastBefore, unpack } from "./time.js";
import { AXIS, drawPauses, LABELS, Lanes, pauseAt, PAUSED, pausedLegend, pausesByRank, TALLEST } from "./lanes.js";
import { blockShare, CLASS_NAMES, CLASSES, classFill, Curve, Overview, sharesOver } from "./shares.js";
import { Selection } from "./selection.js";

// The blocks of a row, and what is known of each: of several that are drawn together, and the attributes of one.
export function blocksOf(row) {
  const attributesOf = new Map();
  for (const [kind, table] of Object.entries(row.attributes)) {
    for (const attribute of rowsOfTable(table)) {
      if (!attributesOf.has(attribute.of)) attributesOf.set(attribute.of, []);
      attributesOf.get(attribute.of).push({ kind, ...attribute });
    }
  }
  return { ...unpack(row), attributesOf, manyOf: new Map(rowsOfTable(row.several).map((several) => [several.of, several])) };
}

// What an attribute of each kind says, in this order.
const TELL = {
  message: (a) => [[a.sent ? "sent to" : "received from", `rank ${a.peer}, tag ${a.tag}, ${bytes(a.bytes)}, ${communicatorName(a)}`],
    ...(a.unexpected_ns ? [["was unexpected for", duration(a.unexpected_ns * 1e-9)]] : [])],
  collective: (a) => [...(a.root >= 0 ? [["root", `rank ${a.root}`]] : []), ["sends", bytes(a.sent_bytes)], ["receives", bytes(a.received_bytes)], ["communicator", communicatorName(a)]],
  operation: (a) => [[a.operation, `rank ${a.target}, ${bytes(a.bytes)}, window ${a.window}`]],
  completion: (a) => [["completes", many(a.operations, "operation")], [a.operations === 1 ? "it took" : "the longest took", duration(a.longest_ns * 1e-9)]],
  below: (a) => [...(a.out ? [["moved to others below", `${bytes(a.bytes_out)} in ${count(a.out)}`]] : []), ...(a.inward ? [["moved from others below", `${bytes(a.bytes_in)} in ${count(a.inward)}`]] : [])],
  all: (a) => ["messages", "operations"].filter((what) => a[what]).map((what) => [what, `${count(a[what])} in all`]),
  search: (a, name) => [...name.elements.map((element, i) => [element, a.elements[i] === -1 && /^(source|tag)$/.test(element) ? "any" : a.elements[i]]), ["communicator", communicatorName(a)]],
  epoch: (a) => [["window", a.window], ["target", a.target < 0 ? "all" : `rank ${a.target}`], ["operations", `${count(a.operations)}, ${bytes(a.bytes)}`]],
};
const communicatorName = ({ communicator }) => communicator === null ? "unknown" : data.events.communicators[communicator];

// What is known of a block, as the text of its tooltip.
export function sliceTip(row, i) {
  const events = data.events, name = events.names[row.names[i]], several = row.manyOf.get(i);
  const lines = [["rank", row.rank + (row.thread && ["calls", "regions"].includes(row.kind) ? `, thread ${row.thread}` : "")], ["begins", duration(row.start[i] * 1e-9, 9)]];
  const site = row.sites[i] ? events.sites[row.sites[i] - 1] : "";
  if (several) {
    lines.push(["drawn together", `${count(several.count)} within ${duration((row.end[i] - row.start[i]) * 1e-9)}`],
      ["take together", duration(several.busy_ns * 1e-9)], ["the longest", `${name.name}, ${duration(several.longest_ns * 1e-9)}`]);
    if (site) lines.push(["which is called at", site]);
    return `<b>${count(several.count)} ${row.kind}</b>` + rowsOf(lines);
  }
  lines.push(["takes", duration((row.end[i] - row.start[i]) * 1e-9)]);
  if (site) lines.push(["called at", site]);
  const attributes = row.attributesOf.get(i) || [];
  for (const kind of Object.keys(TELL)) attributes.filter((a) => a.kind === kind).forEach((a) => lines.push(...TELL[kind](a, name)));
  return `<b>${escape(name.name)}</b>` + rowsOf(lines);
}

// More arrows than that hide what is below them: none is drawn then.
const MOST_ARROWS = 300;

function unpackArrows() {
  const columns = data.events.arrows;
  if (!columns) return null;
  let at = 0;
  const start = Float64Array.from(columns.steps, (step) => at += step);
  return { ...columns, start, end: start.map((time, i) => time + columns.durations[i]) };
}

// Draws those of which an end is seen, and gives how many there are. `middle` has the height of a rank's lane on the canvas.
function drawArrows(pen, view, arrows, middle) {
  const { from, to } = view.stretch, seen = [];
  for (let i = 0; i < arrows.start.length && arrows.start[i] <= to; i++) {
    if (arrows.start[i] < from && (arrows.end[i] < from || arrows.end[i] > to)) continue;
    const [a, b] = [middle(arrows.from[i]), middle(arrows.to[i])];
    if (Math.max(a, b) > AXIS && Math.min(a, b) < view.shown) seen.push([view.x(arrows.start[i]), a, view.x(arrows.end[i]), b]);
  }
  if (seen.length > MOST_ARROWS) return seen.length;
  pen.strokeStyle = pen.fillStyle = color("arrow");
  pen.globalAlpha = seen.length > 150 ? 0.55 : 0.85;
  pen.lineWidth = 1;
  for (const [x, y, tipX, tipY] of seen) {
    const angle = Math.atan2(tipY - y, tipX - x), far = Math.hypot(tipX - x, tipY - y);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(tipX, tipY);
    pen.stroke();
    if (far < 8) continue;
    pen.beginPath();
    pen.moveTo(tipX, tipY);
    for (const side of [-0.38, 0.38]) pen.lineTo(tipX - 7 * Math.cos(angle + side), tipY - 7 * Math.sin(angle + side));
    pen.fill();
  }
  pen.globalAlpha = 1;
  return seen.length;
}
const HINT = "Drag to select, with Shift to move; double-click, Ctrl and wheel, or the keys + \u2212 0 \u2190 \u2192 to zoom; point at a block for its attributes.";
// Lanes lower than that have no room for shares: what takes longest gives the colour, all together its strength.
const LOW = 5;
// Heights where all ranks are seen at once, as parts of that of calls.
const DENSE = { calls: 1, regions: 0.5, searches: 0.4, epochs: 0.6, gap: 0.25 };

// The heights of lanes with the gap below each, and of what is drawn in them.
function laneHeights(rows, ranks, dense) {
  const last = (i) => i + 1 === rows.length || rows[i + 1].rank !== rows[i].rank;
  if (!dense) {
    const [calls, regions, searches, epochs, gap] = ranks <= 24 ? [18, 15, 10, 15, 8] : [12, 9, 7, 9, 5], tall = { calls, regions, searches, epochs };
    return rows.map((row, i) => ({ tall: tall[row.kind], all: tall[row.kind] + (last(i) ? gap : 1) }));
  }
  // Searches have lanes where they take a hundredth of the time, and nothing but calls where there is no room.
  const room = TALLEST - AXIS - 4, wanted = (parts) => rows.reduce((sum, row, i) => sum + parts[row.kind] + (last(i) ? parts.gap : 0), 0);
  const searched = rows.some((row) => row.kind === "searches" && row.busy > 0.01 * (data.events.to_ns - data.events.first_look_ns));
  const spacious = searched ? DENSE : { ...DENSE, searches: 0 };
  const parts = room / wanted(spacious) >= 5 ? spacious : { calls: 1, regions: 0, searches: 0, epochs: 0, gap: 0 }, unit = Math.min(18, room / wanted(parts));
  return rows.map((row, i) => ({ tall: parts[row.kind] * unit, all: (parts[row.kind] + (last(i) ? parts.gap : 0)) * unit }));
}

// Draws the blocks of a row. What is narrower than a pixel shares it with what else is there.
export function drawBlocks(pen, row, y, height, view) {
  const { from, to } = view.stretch, { names } = data.events, fills = CLASS_NAMES.map(classFill);
  const busy = new Float64Array(fills.length);
  let at = -1, used = false;
  const flush = () => {
    if (used && at >= LABELS) {
      let base = y + height, all = 0, most = 0;
      busy.forEach((share, place) => {
        all += share;
        if (share > busy[most]) most = place;
      });
      if (height < LOW) {
        pen.globalAlpha = Math.min(1, all);
        pen.fillStyle = fills[most];
        pen.fillRect(at, y, 1, height);
        pen.globalAlpha = 1;
      } else {
        const scale = height / Math.max(1, all);
        busy.forEach((share, place) => {
          if (!share) return;
          base -= share * scale;
          pen.fillStyle = fills[place];
          pen.fillRect(at, base, 1, share * scale);
        });
      }
    }
    if (used) busy.fill(0);
    used = false;
  };
  // A part of a pixel, from one place to another.
  const add = (place, left, right, share) => {
    if (right <= left) return;
    if (Math.floor(left) !== at) {
      flush();
      at = Math.floor(left);
    }
    busy[place] += (right - left) * share;
    used = true;
  };
  for (let i = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to); i <= last; i++) {
    if (row.end[i] < from) continue;
    const left = Math.max(view.x(row.start[i]), LABELS), right = Math.min(view.x(row.end[i]), view.width), name = row.names[i], place = row.classes[name], share = blockShare(row, i);
    if (Math.floor(left) === Math.floor(right)) {
      add(place, left, right, share);
      continue;
    }
    // Whole pixels in one piece, and what is left at both ends.
    const [first, end] = [Math.ceil(left), Math.floor(right)];
    add(place, left, first, share);
    if (end > first) {
      flush();
      at = -1;
      pen.fillStyle = fills[place];
      pen.globalAlpha = height < LOW ? share : 1;
      const tall = height < LOW ? height : height * share;
      pen.fillRect(first, y + height - tall, end - first, tall);
      pen.globalAlpha = 1;
      const { name: all, class: kind } = names[name], inRegion = kind === "program_region", text = inRegion ? all.split("/").pop() : all;
      // Regions of one colour follow on each other.
      if (inRegion) {
        pen.fillStyle = color("paper");
        pen.fillRect(first, y, 1, height);
      }
      if (end - first > (inRegion ? 24 : 60) && height > 14 && share === 1 && pen.measureText(text).width < end - first - 8) {
        pen.fillStyle = ["send", "post", "one_sided"].includes(kind) ? "#1b1f24" : color(kind === "epoch" || inRegion ? "ink" : "paper");
        pen.fillText(text, first + 4, y + height - (height > 15 ? 5 : 4));
      }
    }
    add(place, end, right, share);
  }
  flush();
}

// The block at a time, or the nearest within three pixels.
function blockAt(row, time, view) {
  const reach = view.time(LABELS + 3) - view.time(LABELS);
  let best = -1, nearest = reach;
  for (let i = lastBefore(row.start, time + reach), n = 0; i >= 0 && n < 400; i--, n++) {
    const away = Math.max(0, row.start[i] - time, time - row.end[i]);
    if (away < nearest || (away === 0 && best < 0)) [best, nearest] = [i, away];
    if (away === 0 || row.start[i] < time - row.longest - reach) break;
  }
  return best;
}

// The share of each class in what is seen, beside its colour.
function legendShares(section, rows, stretch, ofCalls) {
  const searches = rows.filter((row) => row.kind === "searches");
  const ofSearches = searches.length ? sharesOver(searches, stretch.from, stretch.to, 1).map((share) => share ? share[0] : 0) : [];
  section.querySelectorAll(".legend b").forEach((b) => {
    const place = CLASS_NAMES.indexOf(b.dataset.class), kind = b.dataset.class;
    if (kind !== "epoch" && kind !== "program_region") b.textContent = percent((kind.startsWith("search") ? ofSearches : ofCalls)[place] || 0);
  });
}

export function timelineSection(section, stretch) {
  const events = data.events, ranks = [...new Set(events.rows.map((row) => row.rank))], classes = events.names.map((name) => CLASS_NAMES.indexOf(name.class));
  const rows = events.rows.map((row) => ({ ...blocksOf(row), classes }));
  rows.forEach((row) => {
    row.longest = row.end.reduce((most, end, i) => Math.max(most, end - row.start[i]), 0);
    row.busy = row.end.reduce((sum, end, i) => sum + (end - row.start[i]) * blockShare(row, i), 0);
  });
  const pauses = pausesByRank(), arrows = unpackArrows(), calls = rows.filter((row) => row.kind === "calls");
  const together = Math.max(...rows.map((row) => row.resolution_ns), 0);
  const used = new Set(rows.flatMap((row) => [...new Set(row.names)].map((n) => events.names[n].class)));
  let heights = laneHeights(rows, ranks.length, false);
  const tooTall = heights.reduce((sum, height) => sum + height.all, AXIS) > TALLEST;
  if (tooTall) heights = laneHeights(rows, ranks.length, true);
  section.insertAdjacentHTML("beforeend", `<p class="note">The MPI calls of each rank above ${used.has("program_region") ? "the regions of the program, and " : ""}the searches of its queues${used.has("epoch") ? " and the epochs of its windows" : ""}. How high a colour stands is its share of the time. ${HINT}` +
    (together ? ` This run has more than a page can hold: calls within ${duration(together * 1e-9)} of each other are drawn together; <code>--from</code> and <code>--to</code> show a part of the run in full.` : "") +
    (arrows && arrows.every > 1 ? ` Every ${count(arrows.every)}th message has an arrow.` : "") +
    (events.hidden_ranks ? ` ${events.hidden_ranks} ranks in between are left out.` : "") + `</p>` +
    `<div class="controls"><button data-zoom="0.5">zoom in</button><button data-zoom="2">zoom out</button><button data-zoom="all">whole run</button>` +
    `<label>dragging <select class="drags"><option value="select">selects</option><option value="move">moves</option></select></label>` +
    (tooTall ? `<label><input type="checkbox" class="dense" checked> all ranks at once</label>` : "") +
    (arrows && arrows.start.length ? `<label><input type="checkbox" class="with-arrows" checked> messages</label><span class="note arrows-seen"></span>` : "") + `</div>` +
    `<div class="legend">${CLASS_NAMES.filter((c) => used.has(c)).map((c) => `<span><i style="background:var(--${c.replace("_", "-")})"></i>${CLASSES[c]} <b data-class="${c}"></b></span>`).join("")}${pauses.size ? pausedLegend(PAUSED) : ""}</div>`);
  new Overview(section, stretch, calls, events.first_look_ns);
  new Curve(section, stretch, calls, calls.some((row) => row.thread > 0) ? "threads" : "ranks", (shares) => legendShares(section, rows, stretch, shares));
  let lanes = null, marked = null;
  const selection = new Selection(section, rows, arrows, stretch, () => lanes.redraw());
  const firstLane = new Map();
  rows.forEach((row, i) => { if (!firstLane.has(row.rank)) firstLane.set(row.rank, i); });
  const laneEnd = (rank) => rows.findLastIndex((row) => row.rank === rank);
  const drawLane = (pen, lane, y, view) => {
    const row = rows[lane], top = Math.round(y), height = Math.max(heights[lane].tall ? 1 : 0, Math.round(y + heights[lane].tall) - top);
    if (!height) return;
    if (firstLane.get(row.rank) === lane) view.label(pen, `rank ${row.rank}`, top, height);
    drawPauses(pen, pauses.get(row.rank), top, Math.max(height, Math.round(y + heights[lane].all) - top - (laneEnd(row.rank) === lane ? 3 : 0)), view, false);
    drawBlocks(pen, row, top, height, view);
  };
  const tipAt = (lane, time, _, view) => {
    const row = rows[lane], best = blockAt(row, time, view);
    if (best >= 0) return sliceTip(row, best);
    const pause = pauseAt(pauses.get(row.rank), time);
    return pause ? `<b>${PAUSED}</b>` + rowsOf([["rank", row.rank], ["begins", duration(pause[0] * 1e-9, 9)], ["takes", duration((pause[1] - pause[0]) * 1e-9)]]) : "";
  };
  const over = (pen, view) => {
    const switched = $(".with-arrows", section), says = $(".arrows-seen", section);
    if (switched) {
      const middle = (rank) => { const lane = firstLane.get(rank) || 0; return view.tops[lane] - view.box.scrollTop + heights[lane].tall / 2; };
      const seen = switched.checked ? drawArrows(pen, view, arrows, middle) : 0;
      says.textContent = seen > MOST_ARROWS ? `zoom in to see the arrows of ${count(seen)}` : "";
    }
    if (marked) {
      const lane = firstLane.get(marked.rank), top = view.tops[lane] - view.box.scrollTop;
      const [left, right] = marked.times.map((time) => view.x(time));
      pen.strokeStyle = color("ink");
      pen.lineWidth = 2;
      pen.strokeRect(left - 2, top - 2, Math.max(right - left, 1) + 4, Math.max(heights[lane].tall, 3) + 4);
    }
    selection.draw(pen, view);
  };
  lanes = new Lanes(section, stretch, heights.map((height) => height.all), { drawLane, tipAt, over, label: "timeline of MPI calls and queue searches",
    select: (times, chosen, finished) => selection.set(times, chosen, finished) });
  section.append(selection.panel);
  section.addEventListener("click", (event) => {
    const zoom = event.target.dataset.zoom;
    if (zoom) zoom === "all" ? stretch.set(stretch.first, stretch.last) : stretch.zoom(Number(zoom));
  });
  section.addEventListener("change", (event) => {
    if (event.target.matches(".drags")) lanes.moves = event.target.value === "move";
    if (event.target.matches(".dense")) lanes.setHeights((heights = laneHeights(rows, ranks.length, event.target.checked)).map((height) => height.all));
    if (event.target.matches(".with-arrows")) lanes.redraw();
  });
  // What is shown can be read from outside, too.
  const tell = () => Object.assign(section.dataset, { from: stretch.from, to: stretch.to });
  stretch.hears.push(tell);
  tell();
  stretch.set(events.first_look_ns, stretch.last);
  // Shows a place: its times, and the lanes of its rank.
  return (place) => {
    marked = place.marked && firstLane.has(place.rank) ? { rank: place.rank, times: place.marked } : null;
    stretch.set(place.from, place.to);
    lanes.box.scrollTop = Math.max(0, (lanes.tops[firstLane.get(place.rank)] || 0) - 200);
  };
}
