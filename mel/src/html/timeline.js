// The timeline of calls, searches and epochs. How high a colour stands in a lane is its share of the time there.

const HINT = "Drag to select, with Shift to move; double-click, Ctrl and wheel, or the keys + \u2212 0 \u2190 \u2192 to zoom; point at a block for its attributes.";
// Lanes lower than that have no room for shares: what takes longest gives the colour, all together its strength.
const LOW = 5;
// Heights where all ranks are seen at once, as parts of that of calls.
const DENSE = { calls: 1, searches: 0.4, epochs: 0.6, gap: 0.25 };

// The heights of lanes with the gap below each, and of what is drawn in them.
function laneHeights(rows, ranks, dense) {
  const last = (i) => i + 1 === rows.length || rows[i + 1].rank !== rows[i].rank;
  if (!dense) {
    const [calls, searches, epochs, gap] = ranks <= 24 ? [18, 10, 15, 8] : [12, 7, 9, 5], tall = { calls, searches, epochs };
    return rows.map((row, i) => ({ tall: tall[row.kind], all: tall[row.kind] + (last(i) ? gap : 1) }));
  }
  // Searches have lanes where they take a hundredth of the time, and nothing but calls where there is no room.
  const room = TALLEST - AXIS - 4, wanted = (parts) => rows.reduce((sum, row, i) => sum + parts[row.kind] + (last(i) ? parts.gap : 0), 0);
  const searched = rows.some((row) => row.kind === "searches" && row.busy > 0.01 * (data.events.to_ns - data.events.first_look_ns));
  const spacious = searched ? DENSE : { ...DENSE, searches: 0 };
  const parts = room / wanted(spacious) >= 5 ? spacious : { calls: 1, searches: 0, epochs: 0, gap: 0 }, unit = Math.min(18, room / wanted(parts));
  return rows.map((row, i) => ({ tall: parts[row.kind] * unit, all: (parts[row.kind] + (last(i) ? parts.gap : 0)) * unit }));
}

// Draws the blocks of a row. What is narrower than a pixel shares it with what else is there.
function drawBlocks(pen, row, y, height, view) {
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
      const text = names[name].name;
      if (end - first > 60 && height > 14 && share === 1 && pen.measureText(text).width < end - first - 8) {
        const kind = names[name].class;
        pen.fillStyle = ["send", "post", "one_sided"].includes(kind) ? "#1b1f24" : color(kind === "epoch" ? "ink" : "paper");
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
    if (kind !== "epoch") b.textContent = percent((kind.startsWith("search") ? ofSearches : ofCalls)[place] || 0);
  });
}

function timelineSection(section, stretch) {
  const events = data.events, ranks = [...new Set(events.rows.map((row) => row.rank))], classes = events.names.map((name) => CLASS_NAMES.indexOf(name.class));
  const rows = events.rows.map((row) => Object.assign(unpack(row), {
    classes, manyOf: new Map(row.several.map((s) => [s[0], s])), attributesOf: new Map(row.attributes),
  }));
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
  section.insertAdjacentHTML("beforeend", `<p class="note">The MPI calls of each rank above the searches of its queues${used.has("epoch") ? " and the epochs of its windows" : ""}. How high a colour stands is its share of the time. ${HINT}` +
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
