// The time of each rank: computing, MPI by function, waiting; and what others lost waiting for it.

import { percent, roundTicks, seconds, tickTexts } from "./units.js";
import { $, data, escape, rowsOfTable } from "./dom.js";
import { COLOURED, functionFill, functionTable } from "./sites.js";
import { overBalance } from "./figures.js";

// From each rank its segments, in the order in which they are drawn: what it is, nanoseconds.
function segmentsOf(rank) {
  const calls = data.calls, own = new Array(COLOURED).fill(0);
  let other = 0, lost = 0, mpi = 0;
  for (const { function: place, total_ns: total, lost_ns: waiting } of rowsOfTable(rank.functions)) {
    // What was lost is estimated: it is never more than the call took.
    const busy = Math.max(0, total - waiting);
    mpi += total;
    lost += Math.min(waiting, total);
    if (place < COLOURED) own[place] += busy;
    else other += busy;
  }
  const run = Math.max(rank.run_ns, mpi);
  return { rank: rank.rank, of: rank, run, mpi, lost, caused: rank.caused_ns, parts: [
    ["computing", "var(--computing)", run - mpi],
    ...own.map((value, place) => [calls.functions[place] ? calls.functions[place].name : "", functionFill(place), value]),
    ["other MPI", "var(--other)", other], ["waiting", "url(#waiting)", lost],
  ].filter(([, , value]) => value > 0) };
}

// Many ranks share a bar: the mean of their times.
function joined(all, most) {
  const each = Math.ceil(all.length / most);
  if (each <= 1) return all.map((one) => ({ ...one, ranks: [one] }));
  const bars = [];
  for (let i = 0; i < all.length; i += each) {
    const ranks = all.slice(i, i + each), sums = new Map();
    ranks.forEach((one) => one.parts.forEach(([name, fill, value]) => sums.set(name, [name, fill, (sums.has(name) ? sums.get(name)[2] : 0) + value / ranks.length])));
    const mean = (of) => ranks.reduce((sum, one) => sum + of(one), 0) / ranks.length;
    bars.push({ ranks, rank: ranks[0].rank, run: mean((r) => r.run), mpi: mean((r) => r.mpi), lost: mean((r) => r.lost), caused: Math.max(...ranks.map((r) => r.caused)),
      parts: ranks[0].parts.concat(ranks.flatMap((r) => r.parts)).map(([name]) => name).filter((name, i, all) => all.indexOf(name) === i).map((name) => sums.get(name)) });
  }
  return bars;
}

function barTip(bar) {
  const [first, last] = [bar.ranks[0], bar.ranks[bar.ranks.length - 1]];
  const lines = [bar.ranks.length > 1 ? `ranks ${first.rank} to ${last.rank}, mean of ${bar.ranks.length}` : `rank ${first.rank} on ${first.of.host || "?"}${first.of.threads > 1 ? `, ${first.of.threads} threads together` : ""}`];
  lines.push(`MPI: ${seconds(bar.mpi)}, ${percent(bar.mpi / (bar.run || 1))}`, `waiting in it: ${seconds(bar.lost)}, ${percent(bar.lost / (bar.run || 1))}`);
  if (bar.ranks.length === 1) {
    for (const of of rowsOfTable(first.of.functions).slice(0, 8)) {
      lines.push(`  ${data.calls.functions[of.function].name}: ${seconds(of.total_ns)}${of.lost_ns ? `, of it waiting ${seconds(of.lost_ns)}` : ""}`);
    }
  }
  lines.push(`computing: ${seconds(bar.run - bar.mpi)}, ${percent(1 - bar.mpi / (bar.run || 1))}`);
  if (bar.caused) lines.push(`others lost waiting for it: ${seconds(bar.caused)}`);
  return lines.join("\n");
}

const ORDERS = {
  rank: ["rank", (a, b) => a.rank - b.rank], mpi: ["time in MPI", (a, b) => b.mpi / b.run - a.mpi / a.run],
  lost: ["time lost waiting", (a, b) => b.lost - a.lost], caused: ["time that others lost for it", (a, b) => b.caused - a.caused],
};
// Stripes, which are told from every colour; where bars are narrow they would only be noise.
const STRIPES = `<defs><pattern id="waiting" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
  `<rect width="5" height="5" style="fill:var(--waiting)"/><rect width="2" height="5" style="fill:var(--waiting-stripe)"/></pattern></defs>`;

// Few ranks: a row for each, with what others lost for it beside it.
function balanceRows(bars, width, share, anyCaused) {
  const label = 70, tall = 20, step = 27, top = 22, gap = 30, beside = anyCaused ? Math.min(230, width * 0.24) : 0;
  const plot = width - label - 8 - (anyCaused ? beside + gap : 0), height = top + bars.length * step + 24;
  const most = share ? 1 : Math.max(...bars.map((bar) => bar.run)), causedMost = Math.max(...bars.map((bar) => bar.caused), 1);
  let svg = "";
  const ticks = share ? [0, 0.25, 0.5, 0.75, 1] : roundTicks(0, most, 6);
  const texts = share ? ticks.map((tick) => `${tick * 100}\u202f%`) : tickTexts(ticks.map((tick) => tick * 1e-9), true);
  ticks.forEach((tick, i) => {
    const x = label + tick / most * plot;
    svg += `<line class="grid" x1="${x}" x2="${x}" y1="${top - 4}" y2="${height - 20}"/><text x="${x}" y="${height - 6}" text-anchor="${i && x > label + plot - 24 ? "end" : "middle"}">${texts[i]}</text>`;
  });
  const besideAt = label + plot + gap;
  if (anyCaused) svg += `<text x="${besideAt}" y="12">others lost waiting for it</text>`;
  bars.forEach((bar, i) => {
    const y = top + i * step;
    let x = label;
    svg += `<text class="name" x="${label - 8}" y="${y + 14}" text-anchor="end">rank ${bar.rank}</text><g data-tip="${escape(barTip(bar))}"><rect x="${label}" y="${y}" width="${plot}" height="${tall}" fill="transparent"/>`;
    for (const [, fill, value] of bar.parts) {
      const wide = value / (share ? bar.run : most) * plot;
      svg += `<rect x="${x.toFixed(2)}" y="${y}" width="${wide.toFixed(2)}" height="${tall}" fill="${fill}"/>`;
      x += wide;
    }
    svg += "</g>";
    if (bar.caused) {
      const wide = bar.caused / causedMost * (beside - 62), text = seconds(bar.caused);
      svg += `<rect class="caused" x="${besideAt}" y="${y + 3}" width="${Math.max(wide, 1).toFixed(2)}" height="${tall - 6}"/><text x="${besideAt + wide + 6}" y="${y + 14}">${text}</text>`;
    }
  });
  return `<svg viewBox="0 0 ${width} ${height}" style="height:${height}px" role="img" aria-label="time of each rank">${STRIPES}${svg}</svg>`;
}

// Many ranks: a column for each, with what others lost for it below.
function balanceColumns(bars, width, share, anyCaused, ordered) {
  const left = 62, top = 8, tall = 230, gap = 34, below = anyCaused ? 62 : 0;
  const plot = width - left - 8, step = plot / bars.length, space = step > 6 ? 1.5 : step > 3 ? 0.6 : 0;
  const most = share ? 1 : Math.max(...bars.map((bar) => bar.run)), causedMost = Math.max(...bars.map((bar) => bar.caused), 1);
  const height = top + tall + gap + (anyCaused ? below + 26 : 0);
  let svg = "";
  const ticks = share ? [0, 0.25, 0.5, 0.75, 1] : roundTicks(0, most, 5);
  const texts = share ? ticks.map((tick) => `${tick * 100}\u202f%`) : tickTexts(ticks.map((tick) => tick * 1e-9), true);
  ticks.forEach((tick, i) => {
    const y = top + tall - tick / most * tall;
    svg += `<line class="grid" x1="${left}" x2="${left + plot}" y1="${y}" y2="${y}"/><text x="${left - 6}" y="${y + 4}" text-anchor="end">${texts[i]}</text>`;
  });
  const base = top + tall + gap + 14;
  if (anyCaused) svg += `<text x="${left}" y="${base - 6}">others lost waiting for it (at most ${seconds(causedMost)})</text><line class="axis" x1="${left}" x2="${left + plot}" y1="${base + below + 0.5}" y2="${base + below + 0.5}"/>`;
  const every = Math.max(1, roundTicks(0, bars.length, Math.floor(plot / (ordered ? 60 : 34)))[1] || 1);
  bars.forEach((bar, i) => {
    const x = left + i * step, wide = Math.max(step - space, 0.5);
    let y = top + tall;
    // The tip also where the bar is not.
    svg += `<g data-tip="${escape(barTip(bar))}"><rect x="${x.toFixed(2)}" y="${top}" width="${step.toFixed(2)}" height="${height - top}" fill="transparent"/>`;
    for (const [name, fill, value] of bar.parts) {
      const high = value / (share ? bar.run : most) * tall;
      y -= high;
      svg += `<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${wide.toFixed(2)}" height="${high.toFixed(2)}" fill="${name === "waiting" && step < 8 ? "var(--waiting)" : fill}"/>`;
    }
    if (anyCaused && bar.caused) {
      const high = bar.caused / causedMost * below;
      svg += `<rect class="caused" x="${x.toFixed(2)}" y="${(base + below - high).toFixed(2)}" width="${wide.toFixed(2)}" height="${high.toFixed(2)}"/>`;
    }
    svg += "</g>";
    if (i % every === 0) svg += `<text x="${(x + step / 2).toFixed(1)}" y="${top + tall + 15}" text-anchor="middle">${bar.rank}</text>`;
  });
  svg += `<text x="${left + plot}" y="${top + tall + 29}" text-anchor="end">rank</text>`;
  return `<svg viewBox="0 0 ${width} ${height}" style="height:${height}px" role="img" aria-label="time of each rank">${STRIPES}${svg}</svg>`;
}

// The ranks that cost others most, or that spend most in MPI.
function rankTimes(all, anyCaused) {
  const order = ORDERS[anyCaused ? "caused" : "mpi"][1], shown = [...all].sort(order).slice(0, 10);
  return `<div class="wide"><table class="data"><tr><th>${anyCaused ? "others wait<br>most for" : "most in MPI"}</th>${anyCaused ? "<th>they<br>lost</th>" : ""}<th>it<br>computes</th><th>it is<br>in MPI</th><th>it<br>waits</th><th>host</th></tr>` +
    shown.map((one) => `<tr><td>rank ${one.rank}</td>${anyCaused ? `<td>${seconds(one.caused)}</td>` : ""}<td>${percent(1 - one.mpi / (one.run || 1))}</td><td>${percent(one.mpi / (one.run || 1))}</td><td>${percent(one.lost / (one.run || 1))}</td><td>${escape(one.of.host)}</td></tr>`).join("") + "</table></div>";
}

export function balanceSection(section) {
  const calls = data.calls;
  if (!calls) return section.remove();
  section.addEventListener("click", (event) => {
    if (!("all" in event.target.dataset)) return;
    $("tbody[hidden]", section).hidden = false;
    event.target.closest("tbody").remove();
  });
  if (data.over) return overBalance(section);
  const all = calls.ranks.map(segmentsOf), anyCaused = all.some((one) => one.caused > 0), few = all.length <= 16;
  const orders = Object.entries(ORDERS).filter(([key]) => key !== "caused" || anyCaused);
  section.insertAdjacentHTML("beforeend", (all.length > 1 ? `<div class="controls"><label>Show <select id="balance-unit"><option value="share">share of the run</option><option value="time">time</option></select></label>` +
    `<label>sorted by <select id="balance-order">${orders.map(([key, [name]]) => `<option value="${key}">${name}</option>`).join("")}</select></label><span class="note" id="balance-note"></span></div>` : "") +
    `<div class="bars panel"></div><div class="beside">${functionTable()}${all.length > 1 ? rankTimes(all, anyCaused) : ""}</div>`);
  const box = $(".bars", section);
  const draw = () => {
    const unit = $("#balance-unit"), order = $("#balance-order"), width = Math.max(320, box.clientWidth - 20), share = !unit || unit.value === "share";
    const bars = joined([...all].sort(ORDERS[order ? order.value : "rank"][1]), Math.floor(width / 3));
    if (bars.length < all.length) $("#balance-note").textContent = `each bar: the mean of ${bars[0].ranks.length} ranks`;
    box.innerHTML = few ? balanceRows(bars, width, share, anyCaused) : balanceColumns(bars, width, share, anyCaused, order && order.value !== "rank");
  };
  section.addEventListener("change", draw);
  new ResizeObserver(draw).observe(box);
  draw();
}
