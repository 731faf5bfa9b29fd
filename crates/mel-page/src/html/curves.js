// Curves over time: the lengths of the queues of each rank, and variables with a line for each rank.

import { count, duration, many } from "./units.js";
import { $, color, data, rowsOf } from "./dom.js";
import { rangesOf, variablePlots, withPoints } from "./plots.js";
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
  const all = withPoints(data.variables);
  if (!all.length) return section.remove();
  // Those of the event log have the times of the timeline, and move with it.
  const moves = all[0].on_timeline && stretch;
  section.insertAdjacentHTML("beforeend", `<p class="note">Samples of MPI_T variables (mel run --vars) and of what connections carry (--profile net), as the MPI, the system or MEL gives them: observed, but for the lengths and searches of queues, which are as the events are. A line for each rank; time since ${all[0].on_timeline ? "the first record of the run" : "MPI_Init"}. Of variables that count up the lines are what was counted since the start.${moves ? " It moves and zooms with the timeline." : ""}</p><div class="variables"></div>`);
  const ranges = rangesOf(all);
  const draw = () => {
    const [from, to] = moves ? [stretch.from * 1e-9, stretch.to * 1e-9] : [0, ranges.last];
    $(".variables", section).innerHTML = variablePlots(all, ranges, from, to, moves ? 6 : 3);
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
