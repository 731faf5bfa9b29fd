// Curves over time: the lengths of the queues of each rank, and variables with a line for each rank.

import { count, duration, many } from "./units.js";
import { $, color, data, escape, rowsOf, rowsOfTable } from "./dom.js";
import { lastBefore, unpack } from "./time.js";
import { drawPauses, LABELS, Lanes, pauseAt, PAUSED, pausedLegend, pausesByRank } from "./lanes.js";

export function lengthsSection(section, stretch) {
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
    view.label(pen, `rank ${of.rank}`, middle - 6, 12);
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
  new Lanes(section, stretch, ranks.map(() => height), { drawLane: draw, tipAt, label: "length of the message queues over time" });
}
export function variablesSection(section, stretch) {
  const all = data.variables.map((of) => ({ ...of, curves: of.curves.map((curve) => ({ rank: curve.rank, points: rowsOfTable(curve.points) })) }));
  if (!all.length) return section.remove();
  const width = 420, height = 120, left = 64, right = 6, bottom = 20, top = 6, inner = width - left - right;
  // Those of the event log have the times of the timeline, and move with it.
  const moves = all[0].on_timeline && stretch;
  const last = all.reduce((most, of) => of.curves.reduce((a, c) => Math.max(a, c.points[c.points.length - 1].time_s), most), 1e-9);
  section.insertAdjacentHTML("beforeend", `<p class="note">Samples of MPI_T variables (mel run --vars) and of what connections carry (--profile net), as the MPI, the system or MEL gives them: observed, but for the lengths and searches of queues, which are as the events are. A line for each rank; time since ${all[0].on_timeline ? "the first record of the run" : "MPI_Init"}. Of variables that count up the lines are what was counted since the start.${moves ? " It moves and zooms with the timeline." : ""}</p><div class="variables"></div>`);
  const ranges = all.map((of) => of.curves.reduce(([low, high], c) => c.points.reduce(([a, b], { value }) => [Math.min(a, value), Math.max(b, value)], [low, high]), [0, -Infinity]));
  const draw = () => {
    const [from, to] = moves ? [stretch.from * 1e-9, stretch.to * 1e-9] : [0, last];
    $(".variables", section).innerHTML = all.map((of, place) => {
      const low = ranges[place][0], high = Math.max(ranges[place][1], low + 1e-12);
      const x = (t) => left + (t - from) / (to - from) * inner, y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
      // What is seen, and a point at either side.
      const seen = (points) => points.filter((p, i) => (i + 1 >= points.length || points[i + 1].time_s >= from) && (i === 0 || points[i - 1].time_s <= to));
      const path = (c, i) => `<path d="M${seen(c.points).map((p) => `${x(p.time_s).toFixed(1)},${y(p.value).toFixed(1)}`).join("L")}" fill="none" stroke-width="1.5" stroke="hsl(${Math.round(i * 360 / of.curves.length + 200) % 360} 60% 50%)"><title>rank ${c.rank}: ${count(c.points[c.points.length - 1].value)} at the end</title></path>`;
      const grid = [low, high].map((v) => `<line class="grid" x1="${left}" x2="${width}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 4}" y="${y(v) + 4}" text-anchor="end">${count(v)}</text>`).join("");
      const some = of.of_ranks > of.curves.length ? `, ${of.curves.length} of ${of.of_ranks} ranks: lowest and highest at the end` : "";
      return `<figure><figcaption title="${escape(of.description)}"><b>${escape(of.name)}</b> <span class="note">${escape([of.class, of.object].filter(Boolean).join(", "))}${some}</span></figcaption>` +
        `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(of.name)} over time">${grid}<svg x="${left}" y="0" width="${inner}" height="${height}" viewBox="${left} 0 ${inner} ${height}">${of.curves.map(path).join("")}</svg><text x="${left}" y="${height - 4}">${from ? duration(from, 6) : 0}</text><text x="${width - 6}" y="${height - 4}" text-anchor="end">${duration(to, moves ? 6 : 3)}</text></svg></figure>`;
    }).join("");
  };
  draw();
  let waits = false;
  if (moves) stretch.hears.push(() => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      draw();
    });
  });
}
