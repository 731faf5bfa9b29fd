// Who sends to whom: a square of colours, and the pairs with the most.

const KINDS = [["unexpected", "unexpected messages", 4, count], ["messages", "messages received", 2, count], ["bytes", "bytes received", 3, bytes]];

function mix(a, b, share) {
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "rgb(" + [0, 1, 2].map((i) => Math.round(part(a, i) + (part(b, i) - part(a, i)) * share)).join(",") + ")";
}

function matrixSection(section) {
  const matrix = data.events.matrix, kinds = KINDS.filter(([name]) => name !== "unexpected" || matrix.unexpected_known);
  const usual = kinds.find(([, , column]) => matrix.cells.some((c) => c[column] > 0));
  const size = matrix.size, cell = Math.max(2, Math.min(52, Math.floor(500 / size))), side = cell * size, left = 54, top = 40;
  section.insertAdjacentHTML("beforeend",
    (matrix.unexpected_known ? "" : `<p class="note">${LOG_QUEUES("which messages were unexpected")}</p>`) +
    `<div class="controls"><label>Show <select id="matrix-choice">${kinds.map((kind) => `<option value="${kind[0]}"${kind === usual ? " selected" : ""}>${kind[1]}</option>`).join("")}</select></label>` +
    (matrix.block > 1 ? `<span class="note">each row and column: ${matrix.block} ranks</span>` : "") + `<span class="note">colours: logarithmic</span></div>` +
    `<div class="beside"><canvas style="width:${left + side + 90}px;height:${top + side + 8}px" role="img" aria-label="messages by sender and receiver"></canvas><div class="pairs wide"></div></div>`);
  const canvas = $("canvas", section), cells = new Map(matrix.cells.map((c) => [c[0] * size + c[1], c]));
  const label = (i) => matrix.block > 1 ? `${i * matrix.block}\u2013${(i + 1) * matrix.block - 1}` : String(i);
  const chosen = () => kinds.find(([name]) => name === $("#matrix-choice").value);
  const draw = () => {
    const [, text, column, tell] = chosen(), ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = (left + side + 90) * ratio;
    canvas.height = (top + side + 8) * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    const most = matrix.cells.reduce((a, c) => Math.max(a, c[column]), 0), [low, high] = [color("low"), color("high")];
    const share = (value) => most <= 1 ? 1 : Math.log(value) / Math.log(most);
    pen.fillStyle = color("panel");
    pen.fillRect(left, top, side, side);
    for (const c of matrix.cells) {
      if (!c[column]) continue;
      pen.fillStyle = mix(low, high, share(c[column]));
      pen.fillRect(left + c[1] * cell, top + c[0] * cell, cell - (cell > 5 ? 1 : 0), cell - (cell > 5 ? 1 : 0));
      if (cell >= 36) {
        pen.fillStyle = share(c[column]) > 0.5 ? color("paper") : color("ink");
        pen.textAlign = "center";
        const text = c[column] >= 1e4 ? Number((c[column] / 10 ** (3 * Math.floor(Math.log10(c[column]) / 3))).toPrecision(3)) + ["", "k", "M", "G", "T", "P"][Math.floor(Math.log10(c[column]) / 3)] : String(c[column]);
        pen.fillText(text, left + c[1] * cell + cell / 2, top + c[0] * cell + cell / 2 + 4);
      }
    }
    pen.fillStyle = color("faint");
    for (const i of roundTicks(0, size - 1, Math.min(size, Math.floor(side / 34))).filter(Number.isInteger)) {
      pen.textAlign = "center";
      pen.fillText(String(i * matrix.block), left + i * cell + cell / 2, top - 6);
      pen.textAlign = "right";
      pen.fillText(String(i * matrix.block), left - 6, top + i * cell + cell / 2 + 4);
    }
    pen.textAlign = "left";
    pen.fillText("receiver \u2192", left, 14);
    pen.save();
    pen.translate(14, top);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "right";
    pen.fillText("\u2190 sender", 0, 0);
    pen.restore();
    pen.textAlign = "left";
    const tall = Math.min(160, side);
    for (let i = 0; i < tall; i++) {
      pen.fillStyle = mix(high, low, i / tall);
      pen.fillRect(left + side + 14, top + i, 10, 1.5);
    }
    pen.fillStyle = color("faint");
    if (most) {
      pen.fillText(tell(most), left + side + 29, top + 9);
      if (most > 1) pen.fillText("1", left + side + 29, top + tall);
    }
    const best = matrix.cells.filter((c) => c[column]).sort((a, b) => b[column] - a[column]).slice(0, 10);
    $(".pairs", section).innerHTML = best.length ? `<table class="data"><tr><th>most ${text}</th>${kinds.map(([, t]) => `<th>${t}</th>`).join("")}</tr>` +
      best.map((c) => `<tr><td>${label(c[0])} \u2192 ${label(c[1])}</td>${kinds.map(([, , k, f]) => `<td>${f(c[k])}</td>`).join("")}</tr>`).join("") + "</table>"
      : `<p class="note">There were none.</p>`;
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect(), column = Math.floor((event.clientX - box.left - left) / cell), row = Math.floor((event.clientY - box.top - top) / cell);
    if (column < 0 || row < 0 || column >= size || row >= size) return hideTip();
    const c = cells.get(row * size + column) || [row, column, 0, 0, 0];
    showTip(event, `<b>from ${label(row)} to ${label(column)}</b>` + rowsOf(kinds.map(([, text, k, tell]) => [text, tell(c[k])])));
  });
  canvas.addEventListener("mouseleave", hideTip);
  $("#matrix-choice").addEventListener("change", draw);
  redraws.push(draw);
  draw();
}
