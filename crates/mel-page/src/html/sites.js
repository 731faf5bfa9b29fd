// What functions and call sites spend in MPI, and what performance variables did in them.

import { bytes, count, many, percent, seconds } from "./units.js";
import { data, escape, note } from "./dom.js";
import { orNothing, SortedTable, withBar } from "./tables.js";

// So many functions have colours of their own.
export const COLOURED = 6;
export const functionFill = (place) => place < COLOURED ? `var(--function-${place})` : "var(--other)";

// The functions, which is also what the colours mean.
export function functionTable() {
  const { functions, run_ns: run, mpi_ns: mpi, lost_ns: lost } = data.calls, ranks = data.over ? data.over.ranks : data.calls.ranks.length, shown = 12;
  const swatch = (fill) => `<svg class="swatch" viewBox="0 0 10 10"><rect width="10" height="10" fill="${fill}"/></svg>`;
  const line = (fill, name, calls, total, share, waiting, most) => `<tr><td>${fill ? swatch(fill) : ""}${name}</td><td>${calls}</td><td>${seconds(total)}</td><td>${percent(total / (run || 1))}</td><td>${share}</td><td>${waiting}</td><td>${most}</td></tr>`;
  const rows = functions.map((f, place) => {
    const mean = f.total_ns / ranks, uneven = mean ? `${Number((f.most.ns / mean).toPrecision(3))} (rank ${f.most.rank})` : "";
    return line(functionFill(place), escape(f.name), count(f.calls), f.total_ns, percent(f.total_ns / (mpi || 1)), f.lost_ns ? seconds(f.lost_ns) : "", ranks > 1 && f.most.ns ? uneven : "");
  });
  return `<div class="wide"><table class="data"><tr><td></td><th>calls</th><th>time</th><th>share of<br>the run</th><th>share of<br>MPI</th><th>waiting</th><th>most / mean<br>of the ranks</th></tr>` +
    line("var(--computing)", "computing", "", Math.max(0, run - mpi), "", "", "") + rows.slice(0, shown).join("") +
    (rows.length > shown ? `<tbody hidden>${rows.slice(shown).join("")}</tbody><tbody><tr><td colspan="7" style="text-align:left"><button class="link" data-all>${rows.length - shown} more</button></td></tr></tbody>` : "") +
    line("", "all of MPI", count(functions.reduce((sum, f) => sum + f.calls, 0)), mpi, "", "", "").replace("<tr>", `<tr class="sum">`) +
    (lost ? line("url(#waiting)", "of it waiting", "", lost, percent(lost / (mpi || 1)), "", "") : "") + "</table></div>";
}
export const siteName = (place) => place === null || place === undefined ? "" : data.calls.sites[place] || "";
export const onCommunicator = (place) => place === null || place === undefined ? "" : data.calls.communicators[place] || "";

export function sitesSection(section) {
  const calls = data.calls;
  if (!calls) return section.remove();
  const { rows, functions, run_ns: run, mpi_ns: mpi } = calls, longest = Math.max(...rows.map((row) => row.total_ns), 1), most = Math.max(...rows.map((row) => row.lost_ns), 1);
  const number = (head, value, text) => ({ head, value, text, number: true });
  const words = (head, value) => ({ head, value, text: (row) => escape(value(row)) });
  const any = (of) => rows.some((row) => of(row));
  const columns = [
    words("function", (row) => functions[row.function].name), words("call site", (row) => siteName(row.site)),
    ...(any((row) => row.communicators.length) ? [words("communicator", (row) => row.communicators.slice(0, 3).map(onCommunicator).join(", ") + (row.communicators.length > 3 ? ` and ${row.communicators.length - 3} more` : ""))] : []),
    number("calls", (row) => row.calls, (row) => orNothing(row.calls, count)),
    number("time", (row) => row.total_ns, (row) => row.total_ns ? withBar(seconds(row.total_ns), row.total_ns / longest) : ""),
    number("of the<br>run", (row) => row.total_ns, (row) => row.total_ns ? percent(row.total_ns / (run || 1)) : ""),
    number("of<br>MPI", (row) => row.total_ns, (row) => row.total_ns ? percent(row.total_ns / (mpi || 1)) : ""),
    number("longest", (row) => row.max_ns, (row) => orNothing(row.max_ns, seconds)),
    ...(calls.ranks.length > 1 ? [number("most of<br>a rank", (row) => row.most.ns, (row) => row.total_ns ? `${seconds(row.most.ns)} (${row.most.rank})` : "")] : []),
    number("mean<br>bytes", (row) => row.mean_bytes, (row) => row.mean_bytes === null ? "" : bytes(row.mean_bytes)),
    ...(any((row) => row.lost_ns) ? [number("waiting", (row) => row.lost_ns, (row) => row.lost_ns ? withBar(seconds(row.lost_ns), row.lost_ns / most) : ""),
      number("mostly<br>for rank", (row) => row.cause_rank, (row) => row.cause_rank === null ? "" : row.cause_rank)] : []),
    ...(any((row) => row.unexpected) ? [number("unexpected<br>messages", (row) => row.unexpected, (row) => orNothing(row.unexpected, count))] : []),
    ...(any((row) => row.search_ns) ? [number("search<br>time", (row) => row.search_ns, (row) => orNothing(row.search_ns, seconds))] : []),
  ];
  note(section, `Each line that calls MPI, all ranks together. Click on a column to sort by it.${calls.hidden_rows ? ` ${many(calls.hidden_rows, "line")} with the least time are left out.` : ""}`);
  new SortedTable(section, columns, rows, columns.findIndex((column) => column.head === "time"), "search function, line, communicator");
}
export function attributionSection(section) {
  const all = data.attribution;
  if (!all) return section.remove();
  const some = all.functions.some((row) => row.is_estimated);
  section.insertAdjacentHTML("beforeend", `<p class="note">What variables (mel run --attribute) did in calls, and outside of MPI between them, all ranks together: sums of what counts up and of changes, means of levels.${some ? " Shares marked with ~ are estimates: some calls only were read; the totals are exact." : ""}</p>`);
  const share = (row) => row.share === null ? "" : `<span class="share" style="--part:${Math.min(100, Math.max(0, row.share * 100)).toFixed(1)}%">${row.is_estimated ? "~" : ""}${(row.share * 100).toFixed(1)} %</span>`;
  const table = (title, place, rows) => {
    if (!rows.length) return;
    section.insertAdjacentHTML("beforeend", `<h3>${title}</h3>`);
    const word = (head, value) => ({ head, value, text: (row) => escape(value(row)) });
    const number = (head, value, text) => ({ head, value, text: text || ((row) => count(value(row))), number: true });
    const columns = [
      word("variable", (row) => row.variable),
      word(place, (row) => row.place),
      ...(rows.some((row) => row.function) ? [word("MPI function", (row) => row.function)] : []),
      number("sum", (row) => row.sum, (row) => (row.is_estimated ? "~" : "") + count(row.sum)),
      number("share", (row) => row.share, share),
      number("calls", (row) => row.times),
      number("least", (row) => row.least.value, (row) => `${count(row.least.value)} <span class="note">rank ${row.least.rank}</span>`),
      number("most", (row) => row.greatest.value, (row) => `${count(row.greatest.value)} <span class="note">rank ${row.greatest.rank}</span>`),
      word("basis", (row) => row.basis),
    ];
    new SortedTable(section, columns, rows, columns.findIndex((column) => column.head === "share"), `search variable, ${place}`);
  };
  table("By MPI function", "MPI function", all.functions);
  table("By region", "region", all.regions);
  table("By call site", "call site", all.sites);
}
