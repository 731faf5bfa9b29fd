// Performance variables over time: for each a small plot with a line for each rank.

function variablesSection(section) {
  const all = data.variables;
  if (!all.length) return section.remove();
  const width = 420, height = 120, left = 64, bottom = 20, top = 6;
  const last = all.reduce((most, of) => of.curves.reduce((a, c) => Math.max(a, c.points[c.points.length - 1][0]), most), 1e-9);
  section.insertAdjacentHTML("beforeend", `<p class="note">Samples of MPI_T variables (mel run --vars), as the MPI or MEL gives them: observed. A line for each rank; time since MPI_Init. Of variables that count up the lines are what was counted since the start.</p><div class="variables"></div>`);
  $(".variables", section).innerHTML = all.map((of) => {
    const values = of.curves.flatMap((c) => c.points.map((p) => p[1])), low = Math.min(0, ...values), high = Math.max(...values, low + 1e-12);
    const x = (t) => left + t / last * (width - left - 6), y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
    const path = (c, i) => `<path d="M${c.points.map(([t, v]) => `${x(t).toFixed(1)},${y(v).toFixed(1)}`).join("L")}" fill="none" stroke-width="1.5" stroke="hsl(${Math.round(i * 360 / of.curves.length + 200) % 360} 60% 50%)"><title>rank ${c.rank}: ${count(c.points[c.points.length - 1][1])} at the end</title></path>`;
    const grid = [low, high].map((v) => `<line class="grid" x1="${left}" x2="${width}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 4}" y="${y(v) + 4}" text-anchor="end">${count(v)}</text>`).join("");
    const some = of.of_ranks > of.curves.length ? `, ${of.curves.length} of ${of.of_ranks} ranks: lowest and highest at the end` : "";
    return `<figure><figcaption title="${escape(of.description)}"><b>${escape(of.name)}</b> <span class="note">${escape([of.class, of.object].filter(Boolean).join(", "))}${some}</span></figcaption>` +
      `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(of.name)} over time">${grid}${of.curves.map(path).join("")}<text x="${left}" y="${height - 4}">0</text><text x="${width - 6}" y="${height - 4}" text-anchor="end">${duration(last)}</text></svg></figure>`;
  }).join("");
}
