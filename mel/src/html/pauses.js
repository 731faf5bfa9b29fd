// Times in which recording was off, shaded in timeline and queue lengths.

// Where recording was off, by rank.
function pausesByRank() {
  return new Map(data.events.pauses.map((row) => {
    const full = Object.assign(unpack(row), { longest: 0 });
    full.longest = full.end.reduce((most, end, i) => Math.max(most, end - full.start[i]), 0);
    return [row.rank, full];
  }));
}
// Stripes, which no colour of a call is taken for.
function stripes(pen) {
  const tile = document.createElement("canvas"), side = 8;
  tile.width = tile.height = side;
  const brush = tile.getContext("2d");
  brush.strokeStyle = color("paused");
  brush.lineWidth = 2;
  for (const by of [-side, 0, side]) {
    brush.beginPath();
    brush.moveTo(by - 1, side + 1);
    brush.lineTo(by + side + 1, -1);
    brush.stroke();
  }
  return pen.createPattern(tile, "repeat");
}
// Draws these over a lane, above what is there if that is to be covered.
function drawPauses(pen, row, y, height, view, covers) {
  if (!row) return;
  const { from, to } = view.stretch, fills = covers ? [color("panel"), stripes(pen)] : [stripes(pen)];
  for (let i = Math.max(0, lastBefore(row.start, from - row.longest)), last = lastBefore(row.start, to); i <= last; i++) {
    const left = Math.max(view.x(row.start[i]), LABELS), right = Math.min(view.x(row.end[i]), view.width);
    if (right < LABELS || left > view.width) continue;
    for (const fill of fills) {
      pen.fillStyle = fill;
      pen.fillRect(left, y, Math.max(right - left, 1), height);
    }
  }
}
// The pause at a time: its beginning and end; null if there is none.
function pauseAt(row, time) {
  const i = row ? lastBefore(row.start, time) : -1;
  return i >= 0 && time < row.end[i] ? [row.start[i], row.end[i]] : null;
}
const PAUSED = "recording off";
const pausedLegend = (text) => `<span><i class="paused"></i>${text}</span>`;
