// The network: hosts in the middle, the switches of each plane above or below them, and each end of a link in its own colour.

function networkSection(section) {
  const net = data.network, levels = Math.max(1, ...net.nodes.map((n) => n.level)), below = net.planes.length > 1;
  section.insertAdjacentHTML("beforeend", `<p class="note">What each node sends into each of its links: modelled, from observed bytes between ranks and the routes. Each half of a line belongs to the node at that end. ` +
    `${many(net.unused_links, "link")} without traffic ${net.unused_links === 1 ? "is" : "are"} not shown.${net.left_out ? ` Of link ends with traffic ${count(net.left_out)} with the least are not shown either.` : ""}</p>` +
    (net.findings.length ? `<ul>${net.findings.map(([text, advice]) => `<li>${escape(text)} ${escape(advice)}</li>`).join("")}</ul>` : "") +
    `<div class="controls"><label>Level <select id="net-level"><option value="">all</option>${Array.from({ length: levels }, (_, i) => `<option value="${i}">${i ? `level ${i}` : "hosts"} \u2013 level ${i + 1}</option>`).join("")}</select></label>` +
    (below ? `<label>Plane <select id="net-plane"><option value="">all</option>${net.planes.map((name, i) => `<option value="${i}">${escape(name)}</option>`).join("")}</select></label>` : "") +
    `<label>At least <input id="net-least" type="range" min="0" max="100" value="0"> <span id="net-least-told"></span></label>` +
    `<label>Hosts <input id="net-hosts" type="search" placeholder="part of a name" style="width:9rem"></label>` +
    `<label>Colours <select id="net-scale"><option value="">linear</option><option value="log">logarithmic</option></select></label>` +
    (net.phases.length ? `<label>Phase <input id="net-phase" type="range" min="-1" max="${net.phases.length - 1}" value="-1"> <span id="net-phase-told"></span></label>` : "") +
    `</div><canvas class="network" role="img" aria-label="links of the network and what they carry"></canvas><p class="note" id="net-told"></p>`);
  const canvas = $("canvas", section), field = (id) => $(`#net-${id}`, section), read = (id) => field(id) ? field(id).value : "";
  const left = 74, right = 130, row = 150, top = 26, height = top * 2 + row * levels * (below ? 2 : 1);
  canvas.style.height = `${height}px`;
  let halves = [], phase = -1;
  const inPhase = (end) => phase < 0 ? end.bytes : (end.phases.find(([p]) => p === phase) || [0, 0])[1];
  const sign = (node) => node.plane % 2 ? -1 : 1;
  const draw = () => {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 900, pen = canvas.getContext("2d");
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    pen.clearRect(0, 0, width, height);
    phase = net.phases.length ? Number(read("phase")) : -1;
    if (net.phases.length) $("#net-phase-told", section).textContent = phase < 0 ? "all" : net.phases[phase];
    const middle = top + row * levels, place = (node) => [left + node.x * (width - left - right), middle - sign(node) * node.level * row];
    const [level, plane, host, log] = [read("level"), read("plane"), read("hosts").toLowerCase(), read("scale") === "log"];
    const named = host ? new Set(net.nodes.map((n, i) => n.level === 0 && n.name.toLowerCase().includes(host) ? i : -1)) : null;
    const all = net.ends.filter((end) => {
      const [a, b] = [net.nodes[end.from], net.nodes[end.to]];
      return (level === "" || Math.min(a.level, b.level) === Number(level)) && (plane === "" || end.plane === Number(plane)) &&
        (!named || named.has(end.from) || named.has(end.to) || Math.min(a.level, b.level) > 0) && inPhase(end) > 0;
    });
    const most = all.reduce((sum, end) => Math.max(sum, inPhase(end)), 0), least = most * Number(read("least")) / 100;
    $("#net-least-told", section).textContent = least ? bytes(Math.round(least)) : "0";
    const low = all.reduce((sum, end) => Math.min(sum, inPhase(end)), most);
    const share = (value, smallest, greatest) => greatest <= 0 ? 0 : !log ? value / greatest : greatest === smallest ? 1 : Math.log(value / smallest) / Math.log(greatest / smallest);
    const [faint, strong] = [color("low"), color("high")], sent = new Map();
    halves = [];
    const kept = all.filter((end) => inPhase(end) >= least).sort((a, b) => inPhase(a) - inPhase(b)), thin = kept.length > 1500;
    for (const end of kept) {
      const [[x1, y1], [x2, y2]] = [place(net.nodes[end.from]), place(net.nodes[end.to])];
      const shift = end.lane * 4, [mx, my] = [(x1 + x2) / 2 + shift, (y1 + y2) / 2], part = share(inPhase(end), low, most);
      pen.strokeStyle = mix(faint, strong, part);
      pen.lineWidth = thin ? 0.4 + 1.6 * part : 0.8 + 3.2 * part;
      pen.beginPath();
      pen.moveTo(x1 + shift, y1);
      pen.lineTo(mx, my);
      pen.stroke();
      halves.push([end, x1 + shift, y1, mx, my]);
      sent.set(end.from, (sent.get(end.from) || 0) + inPhase(end));
      if (!sent.has(end.to)) sent.set(end.to, 0);
    }
    const mostSent = Math.max(0, ...sent.values()), cold = color("post"), hot = color("search-unexpected");
    const perRow = new Map();
    for (const i of sent.keys()) {
      const key = `${net.nodes[i].level} ${sign(net.nodes[i])}`;
      perRow.set(key, (perRow.get(key) || 0) + 1);
    }
    for (const [i, sum] of sent) {
      const node = net.nodes[i], [x, y] = place(node), inRow = perRow.get(`${node.level} ${sign(node)}`);
      const size = Math.max(1.5, Math.min(6, (width - left - right) / inRow / 2.5));
      pen.fillStyle = mix(cold, hot, mostSent ? sum / mostSent : 0);
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
    const scale = (y, a, b, smallest, greatest, what) => {
      for (let i = 0; i < 70; i++) {
        pen.fillStyle = mix(b, a, i / 70);
        pen.fillRect(width - 112, y + i, 10, 1.5);
      }
      pen.fillStyle = color("faint");
      pen.fillText(what, width - 112, y - 5);
      pen.fillText(bytes(greatest), width - 97, y + 9);
      pen.fillText(bytes(smallest), width - 97, y + 70);
    };
    scale(top, faint, strong, log ? low : 0, most, "a link end");
    scale(top + 100, cold, hot, 0, mostSent, "a node sends");
    $("#net-told", section).textContent = `${many(kept.length, "link end")} shown of ${count(net.ends.length)}.`;
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null, nearest = 7;
    for (const [end, x1, y1, x2, y2] of halves) {
      const [dx, dy] = [x2 - x1, y2 - y1], along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
      const far = Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
      if (far <= nearest) [best, nearest] = [end, far];
    }
    if (!best) return hideTip();
    const rows = [["bytes", bytes(inPhase(best))], ["of what goes between hosts", `${(100 * best.bytes / net.between).toFixed(1)} %`]];
    if (best.at_least_s !== null) rows.push(["takes at least", duration(best.at_least_s)]);
    if (below) rows.push(["plane", net.planes[best.plane]]);
    if (net.phases.length) for (const [p, b] of best.phases.slice().sort((a, b) => b[1] - a[1]).slice(0, 4)) rows.push([`phase ${net.phases[p]}`, bytes(b)]);
    for (const [a, b, sum] of best.pairs) rows.push([`rank ${a} \u2192 ${b}`, bytes(sum)]);
    if (best.all_pairs > best.pairs.length) rows.push([`and ${count(best.all_pairs - best.pairs.length)} more pairs`, ""]);
    for (const [name, sum] of best.functions) rows.push([name, bytes(sum)]);
    showTip(event, `<b>${escape(net.nodes[best.from].name)} \u2192 ${escape(net.nodes[best.to].name)}</b>` + rowsOf(rows));
  });
  canvas.addEventListener("mouseleave", hideTip);
  section.querySelectorAll("input, select").forEach((input) => input.addEventListener("input", draw));
  addEventListener("resize", draw);
  redraws.push(draw);
  draw();
}
