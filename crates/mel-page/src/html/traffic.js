// Who sends what to whom: a square of ranks or hosts with the counts of the profile, and one with the messages of the trace.

import { bytes, count, many } from "./units.js";
import { $, data, escape, LOG_QUEUES, redraws, rowsOf, rowsOfTable } from "./dom.js";
import { pairTable } from "./tables.js";
import { Square } from "./square.js";
import { binName, TrafficSums } from "./traffic_sums.js";

// Columns of the matrix, what they are, and how a number of theirs is written.
const KINDS = [["unexpected", "unexpected messages", count], ["messages", "messages received", count], ["bytes", "bytes received", bytes]];

export function matrixSection(section) {
  const matrix = data.events.matrix, all = rowsOfTable(matrix.cells), kinds = KINDS.filter(([name]) => name !== "unexpected" || matrix.unexpected_known);
  const usual = kinds.find(([column]) => all.some((c) => c[column] > 0));
  const size = matrix.size;
  section.insertAdjacentHTML("beforeend",
    (matrix.unexpected_known ? "" : `<p class="note">${LOG_QUEUES("which messages were unexpected")}</p>`) +
    `<div class="controls"><label>Show <select id="matrix-choice">${kinds.map((kind) => `<option value="${kind[0]}"${kind === usual ? " selected" : ""}>${kind[1]}</option>`).join("")}</select></label>` +
    (matrix.block > 1 ? `<span class="note">each row and column: ${matrix.block} ranks</span>` : "") + `<span class="note">colours: logarithmic</span></div>` +
    `<div class="beside"><div></div><div class="pairs wide"></div></div>`);
  const cells = new Map(all.map((c) => [c.sender * size + c.receiver, c])), label = blockName(matrix.block, data.world_size);
  const tip = (row, column) => {
    const c = cells.get(row * size + column) || { messages: 0, bytes: 0, unexpected: 0 };
    return `<b>from ${label(row)} to ${label(column)}</b>` + rowsOf(kinds.map(([column, text, tell]) => [text, tell(c[column])]));
  };
  const square = new Square($(".beside > div", section), { label: "messages by sender and receiver", tip });
  const draw = () => {
    const [column, text, tell] = kinds.find(([name]) => name === $("#matrix-choice").value), values = new Float64Array(size * size).fill(NaN);
    all.forEach((c) => { if (c[column]) values[c.sender * size + c.receiver] = c[column]; });
    square.show({ rows: size, columns: size, values, tell, rowName: (i) => String(i * matrix.block), columnName: (i) => String(i * matrix.block), words: ["sender", "receiver"] });
    const best = all.filter((c) => c[column]).sort((a, b) => b[column] - a[column]).slice(0, 10);
    $(".pairs", section).innerHTML = best.length ? pairTable("most " + text, best.map((c) => [`${label(c.sender)} \u2192 ${label(c.receiver)}`, ...kinds.map(([k, , f]) => f(c[k]))]), kinds.map(([, t]) => t))
      : `<p class="note">There were none.</p>`;
  };
  $("#matrix-choice").addEventListener("change", draw);
  redraws.push(draw);
  draw();
}

// The ranks of a row of so many.
const blockName = (block, ranks) => (i) => block > 1 ? `${i * block}\u2013${Math.min(ranks, (i + 1) * block) - 1}` : String(i);
const SAID = "Observed: what the program\u2019s calls say.", CARRIED = "Observed, as carried: what the library has moved below the calls.";
const ESTIMATED = "pairs of collective operations are estimated from what the operations mean, not from the library\u2019s algorithm.";
const FILES = ["file-read", "file-write"], OF_PROGRAM = ["p2p", "put", "get", "collective"];
// Name, text, kinds that are in it, and where the numbers come from.
const TRAFFIC_KINDS = [
  ["program", "all that the program asks for", OF_PROGRAM, "Observed: what the program\u2019s calls say; " + ESTIMATED],
  ["p2p", "point-to-point", ["p2p"], SAID],
  ["put", "one-sided, put and accumulate", ["put"], SAID],
  ["get", "one-sided, get: from the window\u2019s rank to the one that calls", ["get"], SAID],
  ["collective", "collective operations", ["collective"], "Calls are observed; " + ESTIMATED],
  ["internal", "as carried: the library\u2019s own messages", ["internal"], "Observed, as carried: messages of the library\u2019s own, as it reports them."],
  ["carried", "as carried: sent by the library", ["carried"], CARRIED],
  ["carried-in", "as carried: fetched by the library", ["carried-in"], CARRIED],
  ["files", "files", FILES, "Observed: what the program\u2019s calls read and write."],
];
const NUMBERS = { bytes: [bytes, (m, b) => b], messages: [count, (m) => m], mean: [bytes, (m, b) => m ? b / m : NaN] };
const TOO_MANY_BINS = 14;

// The places of the greatest values; of equals the first.
function greatestOf(places, values, most) {
  const best = [], before = (a, b) => values[b] - values[a] || a - b;
  for (const place of places) {
    if (best.length === most && values[place] <= values[best[most - 1]]) continue;
    best.push(place);
    best.sort(before);
    best.length = Math.min(best.length, most);
  }
  return best;
}

export function trafficSection(section) {
  const traffic = data.traffic, sums = new TrafficSums(traffic), rows = traffic.size, label = blockName(traffic.block, traffic.ranks);
  const there = (kinds) => traffic.parts.some((part) => kinds.includes(part.kind));
  const kinds = TRAFFIC_KINDS.filter(([name, , of]) => name === "program" ? of.filter((kind) => there([kind])).length > 1 : there(of));
  // Rows of each host, one host after the other.
  const host = new Int32Array(rows);
  const hostRuns = rowsOfTable(traffic.host_runs);
  hostRuns.reduce((at, run) => host.fill(run.host, at, at + run.rows) && at + run.rows, 0);
  const severalHosts = traffic.hosts.length > 1 && hostRuns.length > 0, byHost = [...host.keys()].sort((a, b) => host[a] - host[b] || a - b);
  const orders = [["rank", "ranks"], ["sorted", "ranks, by host"], ["host", "hosts"]].filter(([name]) => name === "rank" || (severalHosts && (name === "host" || hostRuns.length > traffic.hosts.length)));
  const select = (name, text, options) => `<label>${text} <select name="${name}">${options.map(([value, shown]) => `<option value="${value}">${escape(shown)}</option>`).join("")}</select></label>`;
  const named = (names, all) => [["", all], ...names.map((name, i) => [i, name || "unnamed"])];
  section.insertAdjacentHTML("beforeend", `<div class="controls">${select("kind", "What", kinds.map(([name, text]) => [name, text]))}` +
    select("communicator", "Communicator", named(traffic.communicators, "all")) + (traffic.phases.length > 1 ? select("phase", "Phase", named(traffic.phases, "all")) : "") +
    select("number", "Number", [["bytes", "bytes"], ["messages", "messages"], ["mean", "mean size"]]) + (orders.length > 1 ? select("order", "Rows and columns", orders) : "") + `</div>` +
    `<p class="basis note"></p><ul class="said"></ul><div class="beside"><div></div><div class="pairs"><div class="picked"></div><div class="wide"></div></div></div>`);
  const chosen = (name, otherwise = "") => $(`[name=${name}]`, section) ? $(`[name=${name}]`, section).value : otherwise;
  const state = { added: null };
  const nameOf = (place) => state.order === "host" ? traffic.hosts[place] : label(state.rowsOf(place)[0]);
  const full = (place) => state.order === "host" ? traffic.hosts[place] : "rank" + (traffic.block > 1 ? "s " : " ") + nameOf(place) + (severalHosts ? ` (${traffic.hosts[host[state.rowsOf(place)[0]]]})` : "");
  const numbers = (messages, size) => [["messages", count(messages)], ["bytes", bytes(size)], ["mean size", messages ? bytes(size / messages) : "none"]];
  const histogram = (from, to) => {
    const sizes = sums.sizes(state.parts, state.rowsOf(from), state.rowsOf(to));
    if (!sizes.length) return traffic.sizes_left_out ? `<p>Sizes are left out: there are too many for a page.</p>` : "";
    const most = Math.max(...sizes.map(([, number]) => number)), shown = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, TOO_MANY_BINS).sort((a, b) => a[0] - b[0]);
    return `<table class="bins"><tr><td>size of a message</td><td></td><td>messages</td></tr>` + shown.map(([bin, number]) => `<tr><td>${binName(bin)}</td><td><i style="width:${Math.max(1, Math.round(80 * number / most))}px"></i></td><td>${count(number)}</td></tr>`).join("") + "</table>" +
      (shown.length < sizes.length ? `<p>and ${sizes.length - shown.length} more sizes</p>` : "");
  };
  const cellText = (from, to) => {
    const { messages, bytes: size, size: n } = state.added, place = from * n + to;
    return `<b>from ${escape(full(from))} to ${escape(full(to))}</b>` + rowsOf(numbers(messages[place], size[place])) + (messages[place] ? histogram(from, to) : "");
  };
  const fileText = (row, column) => `<b>${escape(full(row))}: ${["read from files", "written to files"][column]}</b>` + rowsOf([["calls", count(state.files.messages[2 * row + column])], ["bytes", bytes(state.files.bytes[2 * row + column])]]);
  // The tests ask the section what is drawn.
  const square = section.square = new Square($(".beside > div", section), {
    label: "what each rank sends to each", tip: (row, column) => state.files ? fileText(row, column) : cellText(row, column),
    sumTip: (side, i) => {
      if (state.files) return "";
      const sum = side === "row" ? state.sent : state.received;
      return `<b>${escape(full(i))} ${side === "row" ? "sends" : "receives"}</b>` + rowsOf(numbers(sum.messages[i], sum.bytes[i]));
    },
    pick: (row, column) => { $(".picked", section).innerHTML = (state.files ? fileText : cellText)(row, column); },
  });
  const draw = () => {
    const [, , of, basis] = kinds.find(([name]) => name === chosen("kind")), [tell, number] = NUMBERS[chosen("number")], isFiles = of === FILES;
    const fits = (name, value) => chosen(name) === "" || Number(chosen(name)) === value;
    state.parts = sums.parts.filter((part) => of.includes(part.kind) && (isFiles || fits("communicator", part.communicator)) && fits("phase", part.phase));
    state.order = isFiles ? "rank" : chosen("order", "rank");
    $("[name=communicator]", section).disabled = isFiles;
    if ($("[name=order]", section)) $("[name=order]", section).disabled = isFiles;
    const places = state.order === "host" ? host : state.order === "sorted" ? byHost.reduce((all, row, place) => (all[row] = place, all), new Int32Array(rows)) : Int32Array.from(host.keys());
    const members = Array.from({ length: state.order === "host" ? traffic.hosts.length : rows }, () => []), n = members.length;
    places.forEach((place, row) => members[place].push(row));
    [state.places, state.rowsOf] = [places, (place) => members[place]];
    const borders = state.order === "host" ? [] : members.flatMap(([row], place) => place && host[row] !== host[members[place - 1][0]] ? [place] : []);
    $(".picked", section).innerHTML = "";
    $(".basis", section).textContent = `${isFiles ? "" : "Rows send, columns receive. "}${basis}${traffic.block > 1 ? ` Each row and column: ${traffic.block} ranks.` : ""} Colours are logarithmic.`;
    const common = { rows: n, named: state.order === "host", tell, rowName: (i) => state.order === "host" ? traffic.hosts[i] : String(state.rowsOf(i)[0] * traffic.block), rowBorders: borders };
    state.files = isFiles ? filesOf(state.parts) : null;
    if (isFiles) showFiles(common, number);
    else showPairs(common, number, n, borders);
  };
  const filesOf = (parts) => {
    const files = { messages: new Float64Array(2 * rows), bytes: new Float64Array(2 * rows) };
    for (const part of parts) for (const { row, amount } of part.own) {
      files.messages[2 * row + FILES.indexOf(part.kind)] += traffic.amounts.messages[amount];
      files.bytes[2 * row + FILES.indexOf(part.kind)] += traffic.amounts.bytes[amount];
    }
    return files;
  };
  const say = (sentences, total) => {
    $(".said", section).innerHTML = sentences.filter(Boolean).map((text) => `<li>${text}</li>`).join("");
    Object.assign(section.dataset, total);
  };
  const showFiles = (common, number) => {
    const { messages, bytes: size } = state.files, values = messages.map((m, i) => m ? number(m, size[i]) : NaN), sum = (all, which) => all.reduce((a, v, i) => a + (i % 2 === which ? v : 0), 0);
    square.show({ ...common, columns: 2, values, columnName: (i) => ["read", "written"][i], words: ["rank", "files"] });
    say([0, 1].map((which) => `${["read", "written"][which]}: ${bytes(sum(size, which))} in ${many(sum(messages, which), "call")}`), { messages: sum(messages, 0) + sum(messages, 1), bytes: sum(size, 0) + sum(size, 1) });
    $(".pairs .wide", section).innerHTML = "";
  };
  const showPairs = (common, number, n, columnBorders) => {
    const added = state.added = sums.add(state.parts, state.places, n), { messages, bytes: size } = added;
    const values = new Float64Array(n * n).fill(NaN), empty = () => ({ messages: new Float64Array(n), bytes: new Float64Array(n) });
    const [sent, received] = [state.sent, state.received] = [empty(), empty()], total = [0, 0], filled = [], targets = new Int32Array(n);
    let between = 0;
    for (let place = 0, from = 0; from < n; from++) for (let to = 0; to < n; to++, place++) {
      if (!messages[place]) continue;
      values[place] = number(messages[place], size[place]);
      filled.push(place);
      if (from !== to) targets[from]++;
      sent.messages[from] += messages[place];
      sent.bytes[from] += size[place];
      received.messages[to] += messages[place];
      received.bytes[to] += size[place];
      total[0] += messages[place];
      total[1] += size[place];
      if (common.named ? from !== to : host[state.rowsOf(from)[0]] !== host[state.rowsOf(to)[0]]) between += size[place];
    }
    const of = (sum) => sum.messages.map((m, i) => m ? number(m, sum.bytes[i]) : 0);
    square.show({ ...common, columns: n, values, columnName: common.rowName, words: ["sender", "receiver"], columnBorders, rowSums: of(sent), columnSums: of(received), sumWords: ["sent", "received"] });
    const unit = common.named ? "host" : traffic.block > 1 ? "row" : "rank", most = (sum) => sum.bytes.reduce((best, value, i) => value > sum.bytes[best] ? i : best, 0);
    const [least, greatest] = [Math.min(...targets), Math.max(...targets)];
    say([
      filled.length ? `<b>${many(total[0], "message")}, ${bytes(total[1])}</b> (mean size ${bytes(total[1] / total[0])}) over ${many(filled.length, "pair")}; a ${unit} sends to ${least === greatest ? many(least, "other") : `${least} to ${greatest} others`}` : "No rank has sent anything of this to another.",
      total[1] && `${escape(full(most(sent)))} sends most, ${bytes(sent.bytes[most(sent)])} (mean ${bytes(total[1] / n)}); ${escape(full(most(received)))} receives most, ${bytes(received.bytes[most(received)])}`,
      severalHosts && total[1] && `${Number((100 * between / total[1]).toPrecision(3))}\u202f% of the bytes go from one host to another (${traffic.hosts.length} hosts)`,
      !severalHosts && traffic.hosts.length > 1 && "Rows have ranks of several hosts: <code>mel report --matrix --by host</code> shows hosts.",
      added.own.messages && `in none of these numbers: ${many(added.own.messages, "message")}, ${bytes(added.own.bytes)} from ranks to themselves`,
      added.unplaced && `left out: ${many(added.unplaced, "call")} of which it is not known who receives`,
    ], { messages: total[0], bytes: total[1], pairs: filled.length });
    const best = greatestOf(filled, values, 10);
    $(".pairs .wide", section).innerHTML = best.length ? pairTable(filled.length > best.length ? "greatest pairs" : "pairs", best.map((place) => {
      const [m, b] = [messages[place], size[place]];
      return [`${escape(nameOf(Math.floor(place / n)))} \u2192 ${escape(nameOf(place % n))}`, count(m), bytes(b), bytes(b / m)];
    }), ["messages", "bytes", "mean size"]) : "";
  };
  section.addEventListener("change", draw);
  redraws.push(draw);
  draw();
}
