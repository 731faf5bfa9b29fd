// Numbers of ranks, from the profile: a bar for each rank; beyond some thousand ranks their distribution, the ranks at both ends, and the
// numbers of one rank on demand.

import { count, duration, many, percent, roundTicks, scaleOf, tickTexts, told } from "./units.js";
import { $, data, escape, note, rowsOfTable } from "./dom.js";
import { functionTable } from "./sites.js";

const WIDTH = 400, HEIGHT = 214, LEFT = 62, RIGHT = 12, TOP = 8, BOTTOM = 44;

// The frame of a plot: grid, axes, ticks and their texts.
function frame(x, y, xTexts, yTexts, xTitle, yTitle) {
  let svg = "";
  y.ticks.forEach((tick, i) => {
    const at = y.at(tick).toFixed(1);
    svg += `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>` +
      `<text x="${LEFT - 5}" y="${at}" dy="4" text-anchor="end">${yTexts[i]}</text>`;
  });
  x.ticks.forEach((tick, i) => {
    const at = x.at(tick).toFixed(1), anchor = at > WIDTH - 30 ? "end" : "middle";
    svg += `<line class="axis" x1="${at}" x2="${at}" y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM + 4}"/>` +
      `<text x="${at}" y="${HEIGHT - BOTTOM + 19}" text-anchor="${anchor}">${xTexts[i]}</text>`;
  });
  return svg + `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM}"/>` +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${xTitle}</text>` +
    `<text transform="translate(11 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${yTitle}</text>`;
}

const bar = (x, width, y, fill, tipText) =>
  `<rect class="bar" x="${x.toFixed(2)}" width="${Math.max(width, 0.8).toFixed(2)}" y="${y.toFixed(1)}" ` +
  `height="${Math.max(HEIGHT - BOTTOM - y, 0).toFixed(1)}" fill="${fill}" data-tip="${escape(tipText)}"/>`;

const drawn = (label, inner) => `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(label)}">${inner}</svg>`;

// From zero, or from the power of ten below the least.
function valueScale(values, from, to, logarithmic) {
  const positive = values.filter((v) => v > 0), high = Math.max(...values, 0);
  if (!logarithmic || !positive.length) return scaleOf(0, high || 1, from, to, false);
  const low = 10 ** Math.floor(Math.log10(Math.min(...positive)) - 1e-9);
  return scaleOf(low, 10 ** Math.ceil(Math.log10(high) + 1e-9), from, to, true);
}

// (a) the value of each rank. Many ranks share bars, which show the largest value.
function perRank(points, name, seconds, fill, logarithmic) {
  // Also those that have no such value: a gap tells it.
  const ranks = data.figures.ranks.map((r) => r.rank), low = Math.min(...ranks), span = Math.max(...ranks) - low + 1;
  const each = Math.ceil(span / 320), bars = new Map();
  for (const point of points) {
    const key = Math.floor((point.rank - low) / each), known = bars.get(key);
    if (!known || known.value < point.value) bars.set(key, point);
  }
  const y = valueScale(points.map((p) => p.value), HEIGHT - BOTTOM, TOP, logarithmic);
  const x = scaleOf(low - 0.5, low + span - 0.5, LEFT, WIDTH - RIGHT, false);
  x.ticks = roundTicks(low, low + span - 1, Math.min(8, span)).filter(Number.isInteger);
  const width = (WIDTH - RIGHT - LEFT) / span * each;
  let svg = frame(x, y, x.ticks.map(String), tickTexts(y.ticks, seconds), "rank", escape(name));
  if (logarithmic) svg = frame(x, y, x.ticks.map(String), y.ticks.map((t) => told(t, seconds)), "rank", escape(name));
  for (const [key, point] of bars) {
    const at = x.at(low - 0.5) + key * width;
    svg += bar(at + width * 0.1, width * 0.8, y.at(point.value), fill, `rank ${point.rank}\n${name}: ${told(point.value, seconds)}`);
  }
  return drawn(`${name} of each rank`, svg);
}

// (b) how many ranks have such a value.
function acrossRanks(points, name, seconds, fill, logarithmic) {
  const values = points.map((p) => p.value), bins = Math.min(16, Math.max(6, Math.ceil(Math.sqrt(points.length) * 1.5)));
  const x = valueScale(values, LEFT, WIDTH - RIGHT, logarithmic), from = LEFT, width = (WIDTH - RIGHT - LEFT) / bins;
  const members = Array.from({ length: bins }, () => []);
  for (const point of points) members[Math.min(bins - 1, Math.max(0, Math.floor((x.at(point.value) - from) / width)))].push(point);
  const y = scaleOf(0, Math.max(...members.map((m) => m.length), 1), HEIGHT - BOTTOM, TOP, false);
  y.ticks = y.ticks.filter(Number.isInteger);
  const xTexts = logarithmic ? x.ticks.map((t) => told(t, seconds)) : tickTexts(x.ticks, seconds);
  let svg = frame(x, y, xTexts, tickTexts(y.ticks, false), escape(name), "ranks");
  members.forEach((all, i) => {
    if (!all.length) return;
    const list = all.slice(0, 12).map((p) => p.rank).join(", ") + (all.length > 12 ? ", \u2026" : "");
    const range = [Math.min(...all.map((p) => p.value)), Math.max(...all.map((p) => p.value))].map((v) => told(v, seconds));
    svg += bar(from + i * width + 0.5, width - 1, y.at(all.length), fill,
      `${all.length} ${all.length === 1 ? "rank" : "ranks"}: ${list}\n${range[0] === range[1] ? range[0] : range.join(" to ")}`);
  });
  return drawn(`distribution of ${name} among the ranks`, svg);
}

// (c) every single one, of all ranks, by powers of ten.
function everyOne(table, what, fill) {
  const bins = rowsOfTable(table), low = Math.floor(bins[0].bin / 10) * 10, high = Math.max(low + 10, Math.ceil((bins[bins.length - 1].bin + 1) / 10) * 10);
  const x = scaleOf(10 ** (low / 10) * 1e-9, 10 ** (high / 10) * 1e-9, LEFT, WIDTH - RIGHT, true);
  const y = valueScale(bins.map((b) => b.count), HEIGHT - BOTTOM, TOP, false), width = (WIDTH - RIGHT - LEFT) / (high - low);
  y.ticks = y.ticks.filter(Number.isInteger);
  let svg = frame(x, y, x.ticks.map((t) => duration(t)), tickTexts(y.ticks, false), what, "how many");
  for (const { bin, count: number } of bins) {
    const ends = [bin, bin + 1].map((b) => duration(10 ** (b / 10) * 1e-9, 2)).join(" to ");
    svg += bar(LEFT + (bin - low) * width, width - 0.6, y.at(number), fill, `${count(number)} of ${ends}`);
  }
  return drawn(`distribution of every ${what}`, svg);
}

// A section with a choice of the quantity, and panels for each group.
export function figureSection(section, groups, fills) {
  const figures = data.figures;
  if (data.over) return overFigures(section, groups, fills);
  if (!figures || !figures.quantities.some((q) => groups.includes(q.group))) {
    note(section, "This run has no profile of the queues: run the program with <code>mel run --profile queues</code>.");
    return;
  }
  const of = (group) => figures.quantities.map((q, index) => ({ ...q, index })).filter((q) => q.group === group);
  const names = of(groups[0]).map((q) => q.name), usual = names.findIndex((name) => name.startsWith("longest"));
  const choice = `${section.id}-choice`;
  section.insertAdjacentHTML("beforeend", `<div class="controls"><label>Show <select id="${choice}">` +
    names.map((name, i) => `<option value="${i}"${i === usual ? " selected" : ""}>${escape(i === 0 ? "how many" : name)}</option>`).join("") +
    `</select></label><label><input type="checkbox" id="${section.id}-log"> logarithmic</label></div><div class="all"></div>`);
  const draw = () => {
    const chosen = Number($("#" + choice).value), logarithmic = $(`#${section.id}-log`).checked;
    $(".all", section).innerHTML = groups.map((group, g) => {
      const quantity = of(group)[chosen];
      const points = figures.ranks.map((r) => ({ rank: r.rank, value: r.values[quantity.index] })).filter((p) => p.value !== null);
      const every = figures.distributions.find((d) => d.group === group);
      const title = `<h3>${escape(group[0].toUpperCase() + group.slice(1))}</h3>`;
      if (!points.length || (!every && points.every((p) => p.value === 0))) return title + `<p class="note">Nothing on any rank.</p>`;
      const fill = `var(--${fills[g]})`, what = group.endsWith("searches") ? "search time" : "lifetime";
      const name = quantity.name === "longest" ? `longest ${what}` : quantity.name;
      const panel = (heading, svg) => `<div class="panel"><h4>${heading}</h4>${svg}</div>`;
      return title + `<div class="panels">` + panel(`${escape(name)}, by rank`, perRank(points, name, quantity.seconds, fill, logarithmic)) +
        panel(`${escape(name)}, among the ranks`, acrossRanks(points, name, quantity.seconds, fill, logarithmic)) +
        (every ? panel(`every ${what}, all ranks`, everyOne(every.bins, what, fill)) : "") + "</div>";
    }).join("");
  };
  section.addEventListener("change", draw);
  draw();
}
const TIME_OF_RANK = "time", isSeconds = (column) => column.unit === "seconds";

// How many ranks have how much.
function overHistogram(column, fill) {
  const bins = rowsOfTable(column.histogram), seconds = isSeconds(column), low = bins[0].from, high = bins[bins.length - 1].to;
  const x = scaleOf(low, high > low ? high : low + (low || 1), LEFT, WIDTH - RIGHT, false);
  const y = scaleOf(0, Math.max(...bins.map((b) => b.ranks), 1), HEIGHT - BOTTOM, TOP, false);
  y.ticks = y.ticks.filter(Number.isInteger);
  let svg = frame(x, y, tickTexts(x.ticks, seconds), tickTexts(y.ticks, false), escape(column.name), "ranks");
  for (const { from, to, ranks } of bins) {
    const left = x.at(from), right = to > from ? x.at(to) : left + 8;
    svg += bar(left + 0.5, right - left - 1, y.at(ranks), fill, `${many(ranks, "rank")}\n${told(from, seconds)} to ${told(to, seconds)}`);
  }
  return drawn(`distribution of ${column.name} over the ranks`, svg);
}

// What most ranks have.
function overQuantiles(column) {
  const text = (value) => told(value, isSeconds(column));
  return `<p class="note">least ${text(column.lowest[0].value)}, 5\u202f% of the ranks at most ${text(column.low)}, half ${text(column.median)}, ` +
    `95\u202f% ${text(column.high)}, most ${text(column.highest[0].value)}; mean ${text(column.sum / column.ranks)}</p>`;
}

// The ranks at both ends; a click shows one.
function overEnds(column) {
  const lines = Math.max(column.highest.length, column.lowest.length), text = (value) => told(value, isSeconds(column));
  const cell = (one) => one ? `<td><button class="link" data-rank="${one.rank}">rank ${one.rank}</button></td><td>${text(one.value)}</td>` : "<td></td><td></td>";
  let rows = "";
  for (let i = 0; i < lines; i++) rows += `<tr>${cell(column.highest[i])}${cell(column.lowest[i])}</tr>`;
  return `<div class="wide"><table class="data ends"><tr><th>most</th><td></td><th>least</th><td></td></tr>${rows}</table></div>`;
}

function overPanels(column, fill) {
  return `<div class="panels"><div class="panel"><h4>${escape(column.name)}, over ${many(column.ranks, "rank")}</h4>${overHistogram(column, fill)}${overQuantiles(column)}</div>` +
    `<div class="panel"><h4>${escape(column.name)}, the ranks that stand out</h4>${overEnds(column)}</div></div>`;
}

// A choice among columns, and what it shows.
function overChoice(section, columns, fillOf, usual) {
  const choice = `${section.id}-choice`;
  section.insertAdjacentHTML("beforeend", `<div class="controls"><label>Show <select id="${choice}">` +
    columns.map((column, i) => `<option value="${i}"${i === usual ? " selected" : ""}>${escape(column.group === TIME_OF_RANK ? column.name : `${column.group}: ${column.name}`)}</option>`).join("") +
    `</select></label></div><div class="over"></div>`);
  const box = $(".over", section), draw = () => {
    const column = columns[Number($("#" + choice).value)];
    box.innerHTML = overPanels(column, fillOf(column));
  };
  $("#" + choice).addEventListener("change", draw);
  draw();
}

// All numbers of one rank, and how many ranks have less.
function overRank(number) {
  const over = data.over, place = over.numbers ? over.numbers.indexOf(number) : number < over.ranks ? number : -1;
  if (place < 0) return `<p class="note">There is no rank ${number}: they are 0 to ${(over.numbers ? over.numbers[over.numbers.length - 1] : over.ranks - 1)}.</p>`;
  const known = over.columns.filter((column) => column.values), host = over.host.length && over.host[place] !== null ? over.names[over.host[place]] : "";
  if (!known.length) return `<p class="note">The numbers of each rank are not here: the run's directory has no ranks.table.</p>`;
  const rows = known.map((column) => {
    const value = column.values[place];
    if (value === null) return "";
    const less = column.values.reduce((sum, other) => sum + (other !== null && other < value), 0) / column.ranks;
    return `<tr><td>${escape(column.group === TIME_OF_RANK ? column.name : `${column.group}: ${column.name}`)}</td><td>${told(value, isSeconds(column))}</td><td>${told(column.median, isSeconds(column))}</td><td>${percent(less)}</td></tr>`;
  });
  return `<h3>rank ${number}${host ? ` on ${escape(host)}` : ""}</h3><div class="wide"><table class="data"><tr><td></td><th>rank ${number}</th><th>median<br>of all</th><th>of the ranks<br>have less</th></tr>${rows.join("")}</table></div>`;
}

function overSearch(section) {
  const over = data.over;
  section.insertAdjacentHTML("beforeend", `<div class="controls"><label>The numbers of rank <input type="search" id="over-rank" inputmode="numeric" style="width:8rem" placeholder="0 to ${over.ranks - 1}"></label></div><div id="over-found"></div>`);
  const input = $("#over-rank"), show = () => {
    const text = input.value.trim();
    $("#over-found").innerHTML = /^\d+$/.test(text) ? overRank(Number(text)) : text ? `<p class="note">Give the number of a rank.</p>` : "";
  };
  input.addEventListener("input", show);
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-rank]");
    if (!button) return;
    input.value = button.dataset.rank;
    show();
    input.scrollIntoView({ block: "center" });
  });
}

// The time of the ranks, instead of a bar for each.
export function overBalance(section) {
  const times = data.over.columns.filter((column) => column.group === TIME_OF_RANK || column.group === "MPI functions");
  const fills = { run: "var(--other)", "in MPI": "var(--wait)", waiting: "var(--waiting)", "others wait for it": "var(--caused)" };
  if (times.length) overChoice(section, times, (column) => fills[column.name] || "var(--wait)", Math.max(0, times.findIndex((column) => column.name === "in MPI")));
  overSearch(section);
  section.insertAdjacentHTML("beforeend", functionTable());
}

// The queues, or the windows, of the ranks.
function overFigures(section, groups, fills) {
  const columns = data.over.columns.filter((column) => groups.includes(column.group));
  if (!columns.length) return note(section, "This run has no profile of that: run the program with <code>mel run --profile queues</code>.");
  const usual = columns.findIndex((column) => column.name.startsWith("longest"));
  overChoice(section, columns, (column) => `var(--${fills[groups.indexOf(column.group)]})`, Math.max(0, usual));
  const every = data.figures ? data.figures.distributions.filter((d) => groups.includes(d.group)) : [];
  const what = (group) => group.endsWith("searches") ? "search time" : "lifetime";
  if (every.length) section.insertAdjacentHTML("beforeend", `<div class="panels">` + every.map((d) => `<div class="panel"><h4>${escape(d.group)}: every ${what(d.group)}, all ranks</h4>${everyOne(d.bins, what(d.group), `var(--${fills[groups.indexOf(d.group)]})`)}</div>`).join("") + "</div>");
}
