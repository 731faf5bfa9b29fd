// Plots of variables over time, a line for each rank: on the page of a run, and on that of a run that goes on.

import { count, duration } from "./units.js";
import { escape, rowsOfTable } from "./dom.js";

// Variables with the points of their curves as rows.
export const withPoints = (variables) => variables.map((of) => ({ ...of, curves: of.curves.map((curve) => ({ rank: curve.rank, points: rowsOfTable(curve.points) })) }));

// The lowest value of each and the highest, and the time of the last sample of all.
export const rangesOf = (all) => ({
  values: all.map((of) => of.curves.reduce(([low, high], c) => c.points.reduce(([a, b], { value }) => [Math.min(a, value), Math.max(b, value)], [low, high]), [0, -Infinity])),
  last: all.reduce((most, of) => of.curves.reduce((a, c) => Math.max(a, c.points[c.points.length - 1].time_s), most), 1e-9),
});

// A figure for each, from one time to another, whose text has so many digits.
export function variablePlots(all, ranges, from, to, digits) {
  const width = 420, height = 120, left = 64, right = 6, bottom = 20, top = 6, inner = width - left - right;
  return all.map((of, place) => {
    const low = ranges.values[place][0], high = Math.max(ranges.values[place][1], low + 1e-12);
    const x = (t) => left + (t - from) / (to - from) * inner, y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
    // What is seen, and a point at either side.
    const seen = (points) => points.filter((p, i) => (i + 1 >= points.length || points[i + 1].time_s >= from) && (i === 0 || points[i - 1].time_s <= to));
    const path = (c, i) => `<path d="M${seen(c.points).map((p) => `${x(p.time_s).toFixed(1)},${y(p.value).toFixed(1)}`).join("L")}" fill="none" stroke-width="1.5" stroke="hsl(${Math.round(i * 360 / of.curves.length + 200) % 360} 60% 50%)"><title>rank ${c.rank}: ${count(c.points[c.points.length - 1].value)} at the end</title></path>`;
    const grid = [low, high].map((v) => `<line class="grid" x1="${left}" x2="${width}" y1="${y(v)}" y2="${y(v)}"/><text x="${left - 4}" y="${y(v) + 4}" text-anchor="end">${count(v)}</text>`).join("");
    const some = of.of_ranks > of.curves.length ? `, ${of.curves.length} of ${of.of_ranks} ranks: lowest and highest at the end` : "";
    return `<figure><figcaption title="${escape(of.description)}"><b>${escape(of.name)}</b> <span class="note">${escape([of.class, of.object].filter(Boolean).join(", "))}${some}</span></figcaption>` +
      `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(of.name)} over time">${grid}<svg x="${left}" y="0" width="${inner}" height="${height}" viewBox="${left} 0 ${inner} ${height}">${of.curves.map(path).join("")}</svg><text x="${left}" y="${height - 4}">${from ? duration(from, 6) : 0}</text><text x="${width - 6}" y="${height - 4}" text-anchor="end">${duration(to, digits)}</text></svg></figure>`;
  }).join("");
}
