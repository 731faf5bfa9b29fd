// Variables over time: for each a small plot with a line for each rank.

function variablesSection(section, stretch) {
  const all = data.variables;
  if (!all.length) return section.remove();
  const width = 420, height = 120, left = 64, right = 6, bottom = 20, top = 6, inner = width - left - right;
  // Those of the event log have the times of the timeline, and move with it.
  const moves = all[0].on_timeline && stretch;
  const last = all.reduce((most, of) => of.curves.reduce((a, c) => Math.max(a, c.points[c.points.length - 1][0]), most), 1e-9);
  section.insertAdjacentHTML("beforeend", `<p class="note">Samples of MPI_T variables (mel run --vars) and of what connections carry (--profile net), as the MPI, the system or MEL gives them: observed, but for the lengths and searches of queues, which are as the events are. A line for each rank; time since ${all[0].on_timeline ? "the first record of the run" : "MPI_Init"}. Of variables that count up the lines are what was counted since the start.${moves ? " It moves and zooms with the timeline." : ""}</p><div class="variables"></div>`);
  const ranges = all.map((of) => of.curves.reduce(([low, high], c) => c.points.reduce(([a, b], [, v]) => [Math.min(a, v), Math.max(b, v)], [low, high]), [0, -Infinity]));
  const draw = () => {
    const [from, to] = moves ? [stretch.from * 1e-9, stretch.to * 1e-9] : [0, last];
    $(".variables", section).innerHTML = all.map((of, place) => {
      const low = ranges[place][0], high = Math.max(ranges[place][1], low + 1e-12);
      const x = (t) => left + (t - from) / (to - from) * inner, y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
      // What is seen, and a point at either side.
      const seen = (points) => points.filter((p, i) => (i + 1 >= points.length || points[i + 1][0] >= from) && (i === 0 || points[i - 1][0] <= to));
      const path = (c, i) => `<path d="M${seen(c.points).map(([t, v]) => `${x(t).toFixed(1)},${y(v).toFixed(1)}`).join("L")}" fill="none" stroke-width="1.5" stroke="hsl(${Math.round(i * 360 / of.curves.length + 200) % 360} 60% 50%)"><title>rank ${c.rank}: ${count(c.points[c.points.length - 1][1])} at the end</title></path>`;
      const grid = [low, high].map((v) => `<line class="grid" x1="${left}" x2="${width}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 4}" y="${y(v) + 4}" text-anchor="end">${count(v)}</text>`).join("");
      const some = of.of_ranks > of.curves.length ? `, ${of.curves.length} of ${of.of_ranks} ranks: lowest and highest at the end` : "";
      return `<figure><figcaption title="${escape(of.description)}"><b>${escape(of.name)}</b> <span class="note">${escape([of.class, of.object].filter(Boolean).join(", "))}${some}</span></figcaption>` +
        `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(of.name)} over time">${grid}<svg x="${left}" y="0" width="${inner}" height="${height}" viewBox="${left} 0 ${inner} ${height}">${of.curves.map(path).join("")}</svg><text x="${left}" y="${height - 4}">${from ? duration(from, 6) : 0}</text><text x="${width - 6}" y="${height - 4}" text-anchor="end">${duration(to, moves ? 6 : 3)}</text></svg></figure>`;
    }).join("");
  };
  draw();
  let waits = false;
  if (moves) stretch.hears.push(() => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      draw();
    });
  });
}
