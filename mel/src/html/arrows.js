// Messages as arrows from the call that sends to the call that receives.

// More arrows than that hide what is below them: none is drawn then.
const MOST_ARROWS = 300;

function unpackArrows() {
  const columns = data.events.arrows;
  if (!columns) return null;
  let at = 0;
  const start = Float64Array.from(columns.steps, (step) => at += step);
  return { ...columns, start, end: start.map((time, i) => time + columns.durations[i]) };
}

// Draws those of which an end is seen, and gives how many there are. `middle` has the height of a rank's lane on the canvas.
function drawArrows(pen, view, arrows, middle) {
  const { from, to } = view.stretch, seen = [];
  for (let i = 0; i < arrows.start.length && arrows.start[i] <= to; i++) {
    if (arrows.start[i] < from && (arrows.end[i] < from || arrows.end[i] > to)) continue;
    const [a, b] = [middle(arrows.from[i]), middle(arrows.to[i])];
    if (Math.max(a, b) > AXIS && Math.min(a, b) < view.shown) seen.push([view.x(arrows.start[i]), a, view.x(arrows.end[i]), b]);
  }
  if (seen.length > MOST_ARROWS) return seen.length;
  pen.strokeStyle = pen.fillStyle = color("arrow");
  pen.globalAlpha = seen.length > 150 ? 0.55 : 0.85;
  pen.lineWidth = 1;
  for (const [x, y, tipX, tipY] of seen) {
    const angle = Math.atan2(tipY - y, tipX - x), far = Math.hypot(tipX - x, tipY - y);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(tipX, tipY);
    pen.stroke();
    if (far < 8) continue;
    pen.beginPath();
    pen.moveTo(tipX, tipY);
    for (const side of [-0.38, 0.38]) pen.lineTo(tipX - 7 * Math.cos(angle + side), tipY - 7 * Math.sin(angle + side));
    pen.fill();
  }
  pen.globalAlpha = 1;
  return seen.length;
}
