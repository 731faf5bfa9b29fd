// Who sends to whom in the trace: a square of colours, and the pairs with the most.

const KINDS = [["unexpected", "unexpected messages", 4, count], ["messages", "messages received", 2, count], ["bytes", "bytes received", 3, bytes]];

function matrixSection(section) {
  const matrix = data.events.matrix, kinds = KINDS.filter(([name]) => name !== "unexpected" || matrix.unexpected_known);
  const usual = kinds.find(([, , column]) => matrix.cells.some((c) => c[column] > 0));
  const size = matrix.size;
  section.insertAdjacentHTML("beforeend",
    (matrix.unexpected_known ? "" : `<p class="note">${LOG_QUEUES("which messages were unexpected")}</p>`) +
    `<div class="controls"><label>Show <select id="matrix-choice">${kinds.map((kind) => `<option value="${kind[0]}"${kind === usual ? " selected" : ""}>${kind[1]}</option>`).join("")}</select></label>` +
    (matrix.block > 1 ? `<span class="note">each row and column: ${matrix.block} ranks</span>` : "") + `<span class="note">colours: logarithmic</span></div>` +
    `<div class="beside"><div></div><div class="pairs wide"></div></div>`);
  const cells = new Map(matrix.cells.map((c) => [c[0] * size + c[1], c])), label = blockName(matrix.block, data.world_size);
  const tip = (row, column) => {
    const c = cells.get(row * size + column) || [row, column, 0, 0, 0];
    return `<b>from ${label(row)} to ${label(column)}</b>` + rowsOf(kinds.map(([, text, k, tell]) => [text, tell(c[k])]));
  };
  const square = new Square($(".beside > div", section), { label: "messages by sender and receiver", tip });
  const draw = () => {
    const [, text, column, tell] = kinds.find(([name]) => name === $("#matrix-choice").value), values = new Float64Array(size * size).fill(NaN);
    matrix.cells.forEach((c) => { if (c[column]) values[c[0] * size + c[1]] = c[column]; });
    square.show({ rows: size, columns: size, values, tell, rowName: (i) => String(i * matrix.block), columnName: (i) => String(i * matrix.block), words: ["sender", "receiver"] });
    const best = matrix.cells.filter((c) => c[column]).sort((a, b) => b[column] - a[column]).slice(0, 10);
    $(".pairs", section).innerHTML = best.length ? pairTable("most " + text, best.map((c) => [`${label(c[0])} \u2192 ${label(c[1])}`, ...kinds.map(([, , k, f]) => f(c[k]))]), kinds.map(([, t]) => t))
      : `<p class="note">There were none.</p>`;
  };
  $("#matrix-choice").addEventListener("change", draw);
  redraws.push(draw);
  draw();
}

// The ranks of a row of so many.
const blockName = (block, ranks) => (i) => block > 1 ? `${i * block}\u2013${Math.min(ranks, (i + 1) * block) - 1}` : String(i);

const pairTable = (title, lines, heads) => `<table class="data"><tr><th>${title}</th>${heads.map((head) => `<th>${head}</th>`).join("")}</tr>` +
  lines.map((line) => `<tr>${line.map((text) => `<td>${text}</td>`).join("")}</tr>`).join("") + "</table>";
