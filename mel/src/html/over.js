// Very many ranks: how a number is distributed over them, the ranks at both ends, and the numbers of one that is asked for.

const TIME_OF_RANK = "time", isSeconds = (column) => column.unit === "seconds";

// How many ranks have how much.
function overHistogram(column, fill) {
  const bins = column.histogram, seconds = isSeconds(column), low = bins[0][0], high = bins[bins.length - 1][1];
  const x = scaleOf(low, high > low ? high : low + (low || 1), LEFT, WIDTH - RIGHT, false);
  const y = scaleOf(0, Math.max(...bins.map((b) => b[2]), 1), HEIGHT - BOTTOM, TOP, false);
  y.ticks = y.ticks.filter(Number.isInteger);
  let svg = frame(x, y, tickTexts(x.ticks, seconds), tickTexts(y.ticks, false), escape(column.name), "ranks");
  for (const [from, to, ranks] of bins) {
    const left = x.at(from), right = to > from ? x.at(to) : left + 8;
    svg += bar(left + 0.5, right - left - 1, y.at(ranks), fill, `${many(ranks, "rank")}\n${told(from, seconds)} to ${told(to, seconds)}`);
  }
  return drawn(`distribution of ${column.name} over the ranks`, svg);
}

// What most ranks have.
function overQuantiles(column) {
  const text = (value) => told(value, isSeconds(column));
  return `<p class="note">least ${text(column.lowest[0][1])}, 5\u202f% of the ranks at most ${text(column.quantiles[0])}, half ${text(column.quantiles[2])}, ` +
    `95\u202f% ${text(column.quantiles[4])}, most ${text(column.highest[0][1])}; mean ${text(column.sum / column.ranks)}</p>`;
}

// The ranks at both ends; a click shows one.
function overEnds(column) {
  const lines = Math.max(column.highest.length, column.lowest.length), text = (value) => told(value, isSeconds(column));
  const cell = (one) => one ? `<td><button class="link" data-rank="${one[0]}">rank ${one[0]}</button></td><td>${text(one[1])}</td>` : "<td></td><td></td>";
  let rows = "";
  for (let i = 0; i < lines; i++) rows += `<tr>${cell(column.highest[i])}${cell(column.lowest[i])}</tr>`;
  return `<div class="wide"><table class="data ends"><tr><th>most</th><th></th><th>least</th><th></th></tr>${rows}</table></div>`;
}

function overPanels(column, fill) {
  return `<div class="panels"><div class="panel"><h4>${escape(column.name)}, over ${many(column.ranks, "rank")}</h4>${overHistogram(column, fill)}${overQuantiles(column)}</div>` +
    `<div class="panel"><h4>${escape(column.name)}, the ranks that stand out</h4>${overEnds(column)}</div></div>`;
}

// A choice among columns, and what it shows.
function overChoice(section, columns, fillOf, usual) {
  const choice = `${section.id}-choice`;
  section.insertAdjacentHTML("beforeend", `<div class="controls"><label>Show <select id="${choice}">` +
    columns.map((column, i) => `<option value="${i}"${i === usual ? " selected" : ""}>${escape(column.group === TIME_OF_RANK ? column.name : `${column.group}: ${column.name}`)}</option>`).join("") +
    `</select></label></div><div class="over"></div>`);
  const box = $(".over", section), draw = () => {
    const column = columns[Number($("#" + choice).value)];
    box.innerHTML = overPanels(column, fillOf(column));
  };
  $("#" + choice).addEventListener("change", draw);
  draw();
}

// All numbers of one rank, and how many ranks have less.
function overRank(number) {
  const over = data.over, place = over.numbers ? over.numbers.indexOf(number) : number < over.ranks ? number : -1;
  if (place < 0) return `<p class="note">There is no rank ${number}: they are 0 to ${(over.numbers ? over.numbers[over.numbers.length - 1] : over.ranks - 1)}.</p>`;
  const known = over.columns.filter((column) => column.values), host = over.host.length && over.host[place] !== null ? over.names[over.host[place]] : "";
  if (!known.length) return `<p class="note">The numbers of each rank are not here: the run's directory has no ranks.table.</p>`;
  const rows = known.map((column) => {
    const value = column.values[place];
    if (value === null) return "";
    const less = column.values.reduce((sum, other) => sum + (other !== null && other < value), 0) / column.ranks;
    return `<tr><td>${escape(column.group === TIME_OF_RANK ? column.name : `${column.group}: ${column.name}`)}</td><td>${told(value, isSeconds(column))}</td><td>${told(column.quantiles[2], isSeconds(column))}</td><td>${percent(less)}</td></tr>`;
  });
  return `<h3>rank ${number}${host ? ` on ${escape(host)}` : ""}</h3><div class="wide"><table class="data"><tr><th></th><th>rank ${number}</th><th>median<br>of all</th><th>of the ranks<br>have less</th></tr>${rows.join("")}</table></div>`;
}

function overSearch(section) {
  const over = data.over;
  section.insertAdjacentHTML("beforeend", `<div class="controls"><label>The numbers of rank <input type="search" id="over-rank" inputmode="numeric" style="width:8rem" placeholder="0 to ${over.ranks - 1}"></label></div><div id="over-found"></div>`);
  const input = $("#over-rank"), show = () => {
    const text = input.value.trim();
    $("#over-found").innerHTML = /^\d+$/.test(text) ? overRank(Number(text)) : text ? `<p class="note">Give the number of a rank.</p>` : "";
  };
  input.addEventListener("input", show);
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-rank]");
    if (!button) return;
    input.value = button.dataset.rank;
    show();
    input.scrollIntoView({ block: "center" });
  });
}

// The time of the ranks, instead of a bar for each.
function overBalance(section) {
  const times = data.over.columns.filter((column) => column.group === TIME_OF_RANK || column.group === "MPI functions");
  const fills = { run: "var(--other)", "in MPI": "var(--wait)", waiting: "var(--waiting)", "others wait for it": "var(--caused)" };
  if (times.length) overChoice(section, times, (column) => fills[column.name] || "var(--wait)", Math.max(0, times.findIndex((column) => column.name === "in MPI")));
  overSearch(section);
  section.insertAdjacentHTML("beforeend", functionTable());
}

// The queues, or the windows, of the ranks.
function overFigures(section, groups, fills) {
  const columns = data.over.columns.filter((column) => groups.includes(column.group));
  if (!columns.length) return note(section, "This run has no profile of that: run the program with <code>mel run --profile queues</code>.");
  const usual = columns.findIndex((column) => column.name.startsWith("longest"));
  overChoice(section, columns, (column) => `var(--${fills[groups.indexOf(column.group)]})`, Math.max(0, usual));
  const every = data.figures ? data.figures.distributions.filter((d) => groups.includes(d.group)) : [];
  const what = (group) => group.endsWith("searches") ? "search time" : "lifetime";
  if (every.length) section.insertAdjacentHTML("beforeend", `<div class="panels">` + every.map((d) => `<div class="panel"><h4>${escape(d.group)}: every ${what(d.group)}, all ranks</h4>${everyOne(d.bins, what(d.group), `var(--${fills[groups.indexOf(d.group)]})`)}</div>`).join("") + "</div>");
}
