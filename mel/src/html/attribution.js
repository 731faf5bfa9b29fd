// Performance variables by MPI function, region and call site: a table of each that can be sorted.

function attributionSection(section) {
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
      number("least", (row) => row.least[0], (row) => `${count(row.least[0])} <span class="note">rank ${row.least[1]}</span>`),
      number("most", (row) => row.greatest[0], (row) => `${count(row.greatest[0])} <span class="note">rank ${row.greatest[1]}</span>`),
      word("basis", (row) => row.basis),
    ];
    new SortedTable(section, columns, rows, columns.findIndex((column) => column.head === "share"), `search variable, ${place}`);
  };
  table("By MPI function", "MPI function", all.functions);
  table("By region", "region", all.regions);
  table("By call site", "call site", all.sites);
}
