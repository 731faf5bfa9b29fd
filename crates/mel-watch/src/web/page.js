// A run that goes on: asks for its numbers again and again, and draws them.

import { bytes, count, duration, scaleOf } from "./units.js";
import { $, data, escape } from "./dom.js";
import { rangesOf, variablePlots, withPoints } from "./plots.js";

const chosen = { rank: null, column: 0 }, order = { column: null, down: true };
const words = { running: "running", finalised: "ended", aborted: "aborted", exited: "exited", killed: "killed" };
let last = null, refused = "";

const percent = (share) => share === null || share === undefined ? "-" : (share * 100).toFixed(1) + "\u202f%";
function valueText(quantity, value) {
  if (value === null || value === undefined) return "-";
  if (quantity.unit === "share") return percent(value);
  return quantity.unit === "bytes_per_second" ? bytes(Math.round(value)) : count(value);
}
const basis = (quantity) => quantity.basis === "modelled" && last.frame.backend === "peruse" ? "observed" : quantity.basis;

// All columns: the quantities, and behind them the variables that the run samples.
function columnsOf(frame) {
  const quantities = data.quantities.map((q, i) => ({ head: q.head, tip: `${q.meaning}: ${basis(q)}`, curve: i, over: frame.over[q.name], value: (row) => row.values[q.name], text: (value) => valueText(q, value) }));
  const variables = (frame.variables || []).map((of) => {
    const here = (row) => (row.variables || []).find((known) => known.name === of.name && known.object === of.object);
    const value = (row) => { const found = here(row); return found ? (of.counts ? found.per_s ?? null : found.value) : null; };
    const text = (value) => value === null || value === undefined ? "-" : count(value) + (of.counts ? "/s" : "");
    const object = of.object && of.object !== "MPI_COMM_WORLD" ? `, ${of.object}` : "";
    return { head: of.name + object, tip: `${of.description}${of.description ? " " : ""}(${of.class}${of.counts ? ", per second" : ""})`, over: of.over, value, text };
  });
  return quantities.concat(variables);
}

function sortedRanks(ranks, columns) {
  if (order.column === null || !columns[order.column]) return ranks;
  const { value } = columns[order.column];
  // What is not known comes last, either way.
  return [...ranks].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return order.down ? y - x : x - y;
  });
}

function drawRanks(frame) {
  const columns = columnsOf(frame);
  $("#ranks thead").innerHTML = `<tr><th class="word"><button data-sort="rank">rank</button></th><th class="word">host</th><th class="word">state</th>` +
    columns.map((q, i) => `<th aria-sort="${i === order.column ? (order.down ? "descending" : "ascending") : "none"}" data-tip="${escape(q.tip)}"><button data-sort="${i}">${escape(q.head)}</button></th>`).join("") + "</tr>";
  const over = ["min", "median", "max"].map((name) => `<tr class="over"><td>${name}</td><td></td><td></td>` +
    columns.map((q) => `<td>${q.text(q.over && q.over[name])}</td>`).join("") + "</tr>");
  const rows = sortedRanks(frame.ranks, columns).map((row) => `<tr data-rank="${row.rank}"${row.rank === chosen.rank ? ` class="chosen"` : ""}><td>${row.rank}</td><td class="word">${escape(row.host)}</td><td class="word ${escape(row.ended)}">${words[row.ended] || ""}</td>` +
    columns.map((q, i) => `<td${q.curve === undefined ? "" : ` data-column="${i}"`}${row.rank === chosen.rank && i === chosen.column ? ` class="chosen"` : ""}>${q.text(q.value(row))}</td>`).join("") + "</tr>");
  $("#ranks tbody").innerHTML = over.concat(rows).join("");
  const q = data.quantities[chosen.column];
  $("#meaning").textContent = `${q.head}: ${q.meaning} (${basis(q)}).`;
}

function drawCurve(frame, curve) {
  const q = data.quantities[chosen.column], seconds = frame.interval_s || data.every_ms / 1e3;
  $("#curve h2").textContent = `${q.head} of rank ${chosen.rank} over time (${basis(q)})`;
  const known = curve.filter((value) => value !== null);
  if (!known.length) { $("#curve .panel").innerHTML = `<p class="note">Not known yet, or not counted.</p>`; return; }
  const [width, height, left, right, top, bottom] = [900, 190, 64, 12, 10, 24], high = Math.max(...known) || 1;
  const y = scaleOf(0, high, height - bottom, top), span = Math.max(curve.length - 1, 1);
  const x = (i) => left + i / span * (width - left - right);
  const lines = y.ticks.map((tick) => `<line class="grid" x1="${left}" x2="${width - right}" y1="${y.at(tick)}" y2="${y.at(tick)}"/><text x="${left - 6}" y="${y.at(tick) + 4}" text-anchor="end">${escape(valueText(q, tick))}</text>`);
  let path = "", pen = "M";
  curve.forEach((value, i) => {
    if (value === null) { pen = "M"; return; }
    path += `${pen}${x(i).toFixed(1)},${y.at(value).toFixed(1)}`;
    pen = "L";
  });
  $("#curve .panel").innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img">${lines.join("")}<path d="${path}" fill="none" stroke="var(--wait)" stroke-width="2"/>` +
    `<text x="${left}" y="${height - 6}">${escape(duration(span * seconds, 2))} ago</text><text x="${width - right}" y="${height - 6}" text-anchor="end">now</text></svg>`;
}

function drawVariables(plots) {
  $("#variables").hidden = !plots.length;
  const all = withPoints(plots), ranges = rangesOf(all);
  $("#variables .variables").innerHTML = variablePlots(all, ranges, 0, ranges.last, 3);
}

function drawSites(frame) {
  const row = frame.ranks.find((row) => row.rank === chosen.rank);
  if (!row) return;
  const call = row.in_call;
  $("#sites h2").textContent = `Call sites of rank ${row.rank}` + (call ? `: in ${call.function}${call.site ? ` at ${call.site}` : ""}${call.since_s > 0 ? `, for ${duration(call.since_s)}` : ""}` : "");
  const share = (seconds) => row.run_s > 0 ? percent(seconds / row.run_s) : "-";
  $("#sites tbody").innerHTML = row.sites.map((site, i) => `<tr><td class="word">${escape(site.site || "(not known)")}</td><td class="word">${escape(site.function)}</td><td>${percent(row.sites_now[i])}</td><td>${share(site.mpi_s)}</td><td>${share(site.waiting_s)}</td><td>${count(site.calls)}</td></tr>`).join("");
}

function draw() {
  if (!last) return;
  const { frame } = last;
  $("#command").textContent = frame.command.length ? frame.command.join(" ") : data.directory;
  document.title = `${frame.command.join(" ") || data.directory} - mel watch`;
  $("#run").textContent = last.headline;
  $("#efficiency").textContent = [["So far", frame.efficiency], ["Last interval", frame.efficiency_now]].filter(([, of]) => of)
    .map(([when, of]) => `${when}: parallel efficiency ${percent(of.parallel_efficiency)} = load balance ${percent(of.load_balance)} × communication efficiency ${percent(of.communication_efficiency)}, rank ${of.busiest_rank} computes longest.`).join(" ");
  $("#finding").textContent = frame.finding ? `Costs most so far (estimated): ${frame.finding}` : "";
  $("#remarks").innerHTML = frame.remarks.map((remark) => `<li>${escape(remark)}</li>`).join("");
  $("#set").hidden = !data.settable;
  $("#told").innerHTML = (last.told || []).concat(refused ? [refused] : []).map((line) => `<li>${escape(line)}</li>`).join("");
  const shown = frame.ranks.length > 0;
  for (const section of ["#ranks", "#curve", "#sites"]) $(section).hidden = !shown;
  if (!shown) return;
  drawRanks(frame);
  drawVariables(last.plots);
  drawCurve(frame, last.curve || []);
  drawSites(frame);
}

async function ask() {
  const q = data.quantities[chosen.column];
  try {
    const answer = await fetch(`data?rank=${chosen.rank ?? 0}&of=${q.name}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    last = await answer.json();
    if (chosen.rank === null && last.frame.ranks.length) chosen.rank = last.frame.ranks[0].rank;
    draw();
  } catch {
    $("#run").textContent = "mel watch has ended: these are the last numbers";
    return false;
  }
  return true;
}

async function send() {
  const answer = await fetch("set", { method: "POST", body: $("#setting").value }).catch(() => null);
  refused = answer && answer.ok ? "" : answer ? await answer.text() : "mel watch has ended";
  draw();
}
$("#send").addEventListener("click", send);
$("#setting").addEventListener("keydown", (event) => { if (event.key === "Enter") send(); });

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-sort]"), cell = event.target.closest("td"), row = event.target.closest("[data-rank]");
  if (button) {
    const column = button.dataset.sort === "rank" ? null : Number(button.dataset.sort);
    order.down = column === order.column ? !order.down : true;
    order.column = column;
    draw();
  } else if (row) {
    chosen.rank = Number(row.dataset.rank);
    if (cell && cell.dataset.column) chosen.column = Number(cell.dataset.column);
    ask();
  }
});

(async () => { while (await ask()) await new Promise((done) => setTimeout(done, Math.max(data.every_ms, 100))); })();
