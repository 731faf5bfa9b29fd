// The network: hosts in the middle, the switches of each plane above or below them, and each end of a link in its own colour.

import { bytes, count, duration, many } from "./units.js";
import { $, color, data, escape, hideTip, mix, redraws, rowsOf, rowsOfTable, showTip } from "./dom.js";

// Findings as a list.
function listed(findings, before) {
  return findings.length ? `<ul>${findings.map(({ text, advice }) => `<li>${before}${escape(text)} ${escape(advice)}</li>`).join("")}</ul>` : "";
}

export function networkSection(section) {
  const net = data.network, second = net.second, levels = Math.max(1, ...net.nodes.map((n) => n.level)), below = net.planes.length > 1;
  section.insertAdjacentHTML("beforeend", `<p class="note">What each node sends into each of its links: modelled, from observed bytes between ranks and the routes. Each half of a line belongs to the node at that end; one that carries nothing is grey. ` +
    `${many(net.unused_links, "link")} without traffic ${net.unused_links === 1 ? "is" : "are"} not shown.${net.left_out ? ` Of link ends with traffic ${count(net.left_out)} with the least are not shown either.` : ""}</p>` +
    (second ? `<p class="note">Two runs on the same network, with the same scales: A is ${escape(second.names[0])}, B is ${escape(second.names[1])}. What else this page shows is of A.</p>` : "") +
    listed(net.findings, second ? "A: " : "") + (second ? listed(second.findings, "B: ") : "") +
    `<div class="controls">` + (second ? `<label>Run <select id="net-run"><option value="beside">A above B</option><option value="a">A</option><option value="b">B</option><option value="change">change from A to B</option></select></label>` : "") + `<label>Level <select id="net-level"><option value="">all</option>${Array.from({ length: levels }, (_, i) => `<option value="${i}">${i ? `level ${i}` : "hosts"} \u2013 level ${i + 1}</option>`).join("")}</select></label>` +
    (below ? `<label>Plane <select id="net-plane"><option value="">all</option>${net.planes.map((name, i) => `<option value="${i}">${escape(name)}</option>`).join("")}</select></label>` : "") +
    `<label>At least <input id="net-least" type="range" min="0" max="100" value="0"> <span id="net-least-told"></span></label>` +
    `<label>Hosts <input id="net-hosts" type="search" placeholder="part of a name" style="width:9rem"></label>` +
    `<label>Colours <select id="net-scale"><option value="">linear</option><option value="log">logarithmic</option></select></label>` +
    (net.phases.length ? `<label>Phase <input id="net-phase" type="range" min="-1" max="${net.phases.length - 1}" value="-1"> <span id="net-phase-told"></span></label>` : "") +
    `</div><canvas class="network" role="img" aria-label="links of the network and what they carry"></canvas><p class="note" id="net-told"></p>`);
  const canvas = $("canvas", section), field = (id) => $(`#net-${id}`, section), read = (id) => field(id) ? field(id).value : "";
  const left = 74, right = 130, row = 150, top = 26, each = top * 2 + row * levels * (below ? 2 : 1);
  let halves = [], phase = -1;
  for (const end of net.ends) for (const of of [end, end.beside]) if (of) of.inPhase = new Map(rowsOfTable(of.phases).map((one) => [one.phase, one.bytes]));
  // What an end carries in run "a" or "b", or how much more in B ("change").
  const sumOf = (of) => !of ? 0 : phase < 0 ? of.bytes : of.inPhase.get(phase) || 0;
  const carried = (end, run) => run === "a" ? sumOf(end) : run === "b" ? sumOf(end.beside) : sumOf(end.beside) - sumOf(end);
  const signed = (value) => value < 0 ? `\u2212${bytes(-value)}` : `+${bytes(value)}`;
  const sign = (node) => node.plane % 2 ? -1 : 1;
  const draw = () => {
    const mode = second ? read("run") : "a", runs = mode === "beside" ? ["a", "b"] : [mode], isChange = mode === "change", height = each * runs.length;
    canvas.style.height = `${height}px`;
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 900, pen = canvas.getContext("2d");
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    pen.clearRect(0, 0, width, height);
    phase = net.phases.length ? Number(read("phase")) : -1;
    if (net.phases.length) $("#net-phase-told", section).textContent = phase < 0 ? "all" : net.phases[phase];
    const [level, plane, host, log] = [read("level"), read("plane"), read("hosts").toLowerCase(), read("scale") === "log"];
    const named = host ? new Set(net.nodes.map((n, i) => n.level === 0 && n.name.toLowerCase().includes(host) ? i : -1)) : null;
    const all = net.ends.filter((end) => {
      const [a, b] = [net.nodes[end.from], net.nodes[end.to]];
      return (level === "" || Math.min(a.level, b.level) === Number(level)) && (plane === "" || end.plane === Number(plane)) &&
        (!named || named.has(end.from) || named.has(end.to) || Math.min(a.level, b.level) > 0);
    });
    // Of two runs the scales are those of both.
    const amounts = all.flatMap((end) => (isChange ? ["change"] : second ? ["a", "b"] : ["a"]).map((run) => Math.abs(carried(end, run)))).filter((value) => value > 0);
    const most = amounts.reduce((sum, value) => Math.max(sum, value), 0), least = most * Number(read("least")) / 100;
    $("#net-least-told", section).textContent = least ? bytes(Math.round(least)) : "0";
    const low = amounts.reduce((sum, value) => Math.min(sum, value), most);
    const share = (value, smallest, greatest) => greatest <= 0 ? 0 : !log ? value / greatest : greatest === smallest ? 1 : Math.log(value / smallest) / Math.log(greatest / smallest);
    const [faint, strong] = isChange ? [color("low"), color("search-unexpected")] : [color("low"), color("high")];
    const sentIn = (run) => {
      const sent = new Map();
      for (const end of all) if (carried(end, run) && Math.abs(carried(end, run)) >= least) {
        sent.set(end.from, (sent.get(end.from) || 0) + carried(end, run));
        if (!sent.has(end.to)) sent.set(end.to, 0);
      }
      return sent;
    };
    const sums = (second && !isChange ? ["a", "b"] : runs).map(sentIn), cold = color("post"), hot = color("search-unexpected");
    const mostSent = sums.reduce((most, sent) => [...sent.values()].reduce((most, value) => Math.max(most, value), most), 0);
    halves = [];
    let told = 0;
    const scale = (y, a, b, smallest, greatest, what) => {
      for (let i = 0; i < 70; i++) {
        pen.fillStyle = mix(b, a, i / 70);
        pen.fillRect(width - 112, y + i, 10, 1.5);
      }
      pen.fillStyle = color("faint");
      pen.fillText(what, width - 112, y - 5);
      pen.fillText(greatest, width - 97, y + 9);
      pen.fillText(smallest, width - 97, y + 70);
    };
    runs.forEach((run, position) => {
      const start = each * position, middle = start + top + row * levels, place = (node) => [left + node.x * (width - left - right), middle - sign(node) * node.level * row];
      const inPhase = (end) => Math.abs(carried(end, run)), sent = sentIn(run);
      const kept = all.filter((end) => inPhase(end) > 0 && inPhase(end) >= least).sort((a, b) => inPhase(a) - inPhase(b)), thin = kept.length > 1500;
      told += kept.length;
      pen.strokeStyle = color("line");
      pen.lineWidth = 0.6;
      for (const end of thin ? [] : kept) {
        const [[x1, y1], [x2, y2]] = [place(net.nodes[end.from]), place(net.nodes[end.to])], shift = end.lane * 4;
        pen.beginPath();
        pen.moveTo(x1 + shift, y1);
        pen.lineTo(x2 + shift, y2);
        pen.stroke();
      }
      for (const end of kept) {
        const [[x1, y1], [x2, y2]] = [place(net.nodes[end.from]), place(net.nodes[end.to])];
        const shift = end.lane * 4, [mx, my] = [(x1 + x2) / 2 + shift, (y1 + y2) / 2], part = share(inPhase(end), low, most);
        pen.strokeStyle = mix(faint, carried(end, run) < 0 ? color("wait") : strong, isChange ? 0.15 + 0.85 * part : part);
        pen.lineWidth = thin ? 0.4 + 1.6 * part : 0.8 + 3.2 * part;
        pen.beginPath();
        pen.moveTo(x1 + shift, y1);
        pen.lineTo(mx, my);
        pen.stroke();
        halves.push([end, x1 + shift, y1, mx, my, run]);
      }
      const perRow = new Map();
      for (const i of sent.keys()) {
        const key = `${net.nodes[i].level} ${sign(net.nodes[i])}`;
        perRow.set(key, (perRow.get(key) || 0) + 1);
      }
      for (const [i, sum] of sent) {
        const node = net.nodes[i], [x, y] = place(node), inRow = perRow.get(`${node.level} ${sign(node)}`);
        const size = Math.max(1.5, Math.min(6, (width - left - right) / inRow / 2.5));
        pen.fillStyle = isChange ? color("faint") : mix(cold, hot, mostSent ? sum / mostSent : 0);
        pen.beginPath();
        pen.arc(x, y, size, 0, 7);
        pen.fill();
        if ((width - left - right) / inRow > 6.5 * Math.min(12, node.name.length)) {
          pen.fillStyle = color("ink");
          pen.textAlign = "center";
          pen.fillText(node.name.length > 12 ? node.name.slice(0, 11) + "\u2026" : node.name, x, node.level === levels && sign(node) > 0 ? y - 10 : y + 18);
        }
      }
      pen.fillStyle = color("faint");
      pen.textAlign = "left";
      for (let l = 0; l <= levels; l++) {
        for (const s of l && below ? [1, -1] : [1]) pen.fillText(l ? `level ${l}${below ? (s > 0 ? "a" : "b") : ""}` : "hosts", 2, middle - s * l * row + 4);
      }
      if (runs.length > 1) {
        pen.font = "bold 13px system-ui, 'DejaVu Sans', sans-serif";
        pen.fillText(run.toUpperCase(), 2, start + 16);
        pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
      }
      if (isChange) {
        scale(start + top, faint, strong, "none", signed(most), "more in B");
        scale(start + top + 100, faint, color("wait"), "none", signed(-most), "less in B");
      } else {
        scale(start + top, faint, strong, bytes(log ? low : 0), bytes(most), "a link end");
        scale(start + top + 100, cold, hot, bytes(0), bytes(mostSent), "a node sends");
      }
    });
    $("#net-told", section).textContent = `${many(told, "link end")} shown of ${count(net.ends.length * runs.length)}.`;
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null, run = "a", nearest = 7;
    for (const [end, x1, y1, x2, y2, of] of halves) {
      const [dx, dy] = [x2 - x1, y2 - y1], along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
      const far = Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
      if (far <= nearest) [best, nearest, run] = [end, far, of];
    }
    if (!best) return hideTip();
    const own = run === "b" ? best.beside : best, between = run === "b" ? second.between : net.between;
    const rows = second ? [["A", bytes(carried(best, "a"))], ["B", bytes(carried(best, "b"))], ["change", signed(carried(best, "change"))]] : [["bytes", bytes(sumOf(best))]];
    if (run !== "change") rows.push(["of what goes between hosts", `${(100 * own.bytes / (between || 1)).toFixed(1)} %`]);
    if (best.at_least_s !== null && run === "a") rows.push(["takes at least", duration(best.at_least_s)]);
    if (below) rows.push(["plane", net.planes[best.plane]]);
    if (net.phases.length) for (const of of rowsOfTable(own.phases).sort((a, b) => b.bytes - a.bytes).slice(0, 4)) rows.push([`phase ${net.phases[of.phase]}`, bytes(of.bytes)]);
    const pairs = rowsOfTable(own.pairs);
    for (const pair of pairs) rows.push([`rank ${pair.from} \u2192 ${pair.to}`, bytes(pair.bytes)]);
    if (own.all_pairs > pairs.length) rows.push([`and ${count(own.all_pairs - pairs.length)} more pairs`, ""]);
    for (const of of rowsOfTable(own.functions)) rows.push([of.function, bytes(of.bytes)]);
    showTip(event, `<b>${escape(net.nodes[best.from].name)} \u2192 ${escape(net.nodes[best.to].name)}</b>` + rowsOf(rows));
  });
  canvas.addEventListener("mouseleave", hideTip);
  section.querySelectorAll("input, select").forEach((input) => input.addEventListener("input", draw));
  addEventListener("resize", draw);
  redraws.push(draw);
  draw();
}
