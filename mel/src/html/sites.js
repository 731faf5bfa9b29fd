// Call sites: what each line of the program spends in MPI.

const siteName = (place) => place === null || place === undefined ? "" : data.calls.sites[place] || "";
const onCommunicator = (place) => place === null || place === undefined ? "" : data.calls.communicators[place] || "";
// A number, with a bar behind it that shows it as a part of the largest.
const withBar = (text, part) => `<span class="part" style="--part:${(Math.max(0, Math.min(1, part)) * 100).toFixed(1)}%">${text}</span>`;
const orNothing = (value, tell) => value ? tell(value) : "";

function sitesSection(section) {
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
    ...(calls.ranks.length > 1 ? [number("most of<br>a rank", (row) => row.most[0], (row) => row.total_ns ? `${seconds(row.most[0])} (${row.most[1]})` : "")] : []),
    number("mean<br>bytes", (row) => row.mean_bytes, (row) => row.mean_bytes === null ? "" : bytes(row.mean_bytes)),
    ...(any((row) => row.lost_ns) ? [number("waiting", (row) => row.lost_ns, (row) => row.lost_ns ? withBar(seconds(row.lost_ns), row.lost_ns / most) : ""),
      number("mostly<br>for rank", (row) => row.cause_rank, (row) => row.cause_rank === null ? "" : row.cause_rank)] : []),
    ...(any((row) => row.unexpected) ? [number("unexpected<br>messages", (row) => row.unexpected, (row) => orNothing(row.unexpected, count))] : []),
    ...(any((row) => row.search_ns) ? [number("search<br>time", (row) => row.search_ns, (row) => orNothing(row.search_ns, seconds))] : []),
  ];
  note(section, `Each line that calls MPI, all ranks together. Click on a column to sort by it.${calls.hidden_rows ? ` ${many(calls.hidden_rows, "line")} with the least time are left out.` : ""}`);
  new SortedTable(section, columns, rows, columns.findIndex((column) => column.head === "time"), "search function, line, communicator");
}
