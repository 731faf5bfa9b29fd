// Puts the page together.

import { bytes, count, duration, many, told } from "./units.js";
import { $, data, escape, LOG_QUEUES, note, redraws, rowsOfTable } from "./dom.js";
import { contents, keyboard } from "./contents.js";
import { placeLink, showPlacesBy, Stretch } from "./time.js";
import { attributionSection, sitesSection } from "./sites.js";
import { budgetBar, verdictSection, waitsSection } from "./verdict.js";
import { figureSection } from "./figures.js";
import { flameSection } from "./flames.js";
import { balanceSection } from "./balance.js";
import { timelineSection } from "./timeline.js";
import { lengthsSection, variablesSection } from "./curves.js";
import { matrixSection, trafficSection } from "./traffic.js";
import { networkSection } from "./network.js";

function header() {
  const events = data.events, length = data.duration_s || (events ? (events.to_ns - events.from_ns) * 1e-9 : 0);
  $("#command").textContent = data.command || "MEL";
  const parts = [`${many(data.world_size, "rank")} ${data.place}`.trim(), duration(length)];
  if (data.mpi) parts.push(data.mpi);
  if (data.backend) parts.push(`events: ${data.backend}${data.backend === "model" ? ", computed beside the MPI library" : ""}`);
  if (data.started_unix_s) parts.push(new Date(data.started_unix_s * 1000).toLocaleString("sv"));
  if (data.mel_version) parts.push(`MEL ${data.mel_version}`);
  $("#run").textContent = parts.join(" \u00b7 ");
  budgetBar($("#budget"));
  $("#findings ul").innerHTML = data.findings.map((text) => `<li>${escape(text)}</li>`).join("");
  if (events && events.calls + events.searches > 0) {
    $("#findings ul").insertAdjacentHTML("beforeend", `<li>the event log has ${many(events.calls, "MPI call")}, ${events.searches === 1 ? "1 queue search" : `${count(events.searches)} queue searches`}${events.operations ? `, operations on windows: ${count(events.operations)}` : ""} and ${many(events.messages, "received message")}${events.lone_messages ? ` (${count(events.lone_messages)} of them in calls that are not recorded: the timeline does not show them)` : ""}</li>`);
  }
}

// What the events add to the findings, each with a way to its place in the timeline.
function moments() {
  const events = data.events, list = $("#findings ul");
  const say = (html) => list.insertAdjacentHTML("beforeend", `<li>${html}</li>`);
  const matrix = events.matrix, worst = matrix && matrix.unexpected_known && rowsOfTable(matrix.cells).reduce((a, c) => !a || c.unexpected > a.unexpected ? c : a, null);
  if (worst && worst.unexpected > 0 && matrix.block === 1 && worst.messages > 0) {
    say(`no pair of ranks had more unexpected messages than ${worst.sender} \u2192 ${worst.receiver}: ${count(worst.unexpected)} unexpected, ${count(worst.messages)} received`);
  }
  const longest = (queue) => {
    let best = { most: 0 };
    for (const of of events.lengths) {
      let at = 0;
      of[queue].most.forEach((most, i) => {
        at += of[queue].steps[i];
        if (most > best.most) best = { most, at, rank: of.rank, length: of[queue].durations[i] };
      });
    }
    return best;
  };
  const told = [["posted", "posted receive"], ["unexpected", "unexpected message"]].map(([queue, text]) => [longest(queue), text]).filter(([best]) => best.most > 0);
  if (told.length) {
    say("the longest queues: " + told.map(([best, text]) => `${many(best.most, text)} on ${placeLink(best.rank, best.at, best.length, `rank ${best.rank} at ${duration(best.at * 1e-9, 4)}`)}`).join(", "));
  }
  // A search that ends at its first entry takes a few nanoseconds, always the same.
  const long = events.moments.filter((m) => m.duration_ns >= 10);
  if (long.length) {
    say("the longest searches: " + long.map((m) => placeLink(m.rank, m.start_ns, m.duration_ns, `rank ${m.rank} at ${duration(m.start_ns * 1e-9, 4)} (${duration(m.duration_ns * 1e-9)})`)).join(", "));
  }
}

function communicatorTable(section) {
  const all = data.communicators, seen = all.some((row) => row.traffic), kept = all.some((row) => row.queues);
  const unexpected = data.events && data.events.matrix && data.events.matrix.unexpected_known;
  if (!all.length) return note(section, "The records of this run have no communicator.");
  const columns = [["communicator", (row) => escape(row.name || "unnamed")], ["processes", (row) => row.size]];
  const some = (of, tell) => (row) => row[of] ? tell(row[of]) : "";
  if (seen) columns.push(["messages received", some("traffic", (t) => count(t.messages))], ["bytes received", some("traffic", (t) => bytes(t.bytes))]);
  if (seen && unexpected) columns.push(["unexpected messages", some("traffic", (t) => count(t.unexpected))]);
  if (seen) columns.push(["searches", some("traffic", (t) => count(t.searches))], ["searching", some("traffic", (t) => duration(t.search_ns * 1e-9))]);
  if (all.some((row) => row.calls)) columns.push(["calls", some("calls", (c) => count(c.calls))], ["in MPI", some("calls", (c) => duration(c.in_mpi_s))], ["waiting (estimated)", some("calls", (c) => duration(c.waiting_s))]);
  if (kept) columns.push(["receives that waited", some("queues", (q) => count(q.posted))], ["posted queue, max length", some("queues", (q) => count(q.posted_length))],
    ["unexpected queue, max length", some("queues", (q) => count(q.unexpected_length))], ["unexpected, mean lifetime", some("queues", (q) => duration(q.unexpected_mean_s))],
    ["unexpected, longest", some("queues", (q) => duration(q.unexpected_max_s))]);
  section.insertAdjacentHTML("beforeend", `<div class="wide"><table class="data"><tr>${columns.map(([head]) => `<th>${head.replace(", ", ",<br>")}</th>`).join("")}</tr>` +
    all.map((row) => `<tr>${columns.map(([, tell]) => `<td>${tell(row)}</td>`).join("")}</tr>`).join("") + "</table></div>");
}

function rankTable(section) {
  const figures = data.figures;
  if (!figures || data.over) return section.remove();
  const groups = [...new Set(figures.quantities.map((q) => q.group))];
  const ended = figures.ranks.some((r) => r.ended !== "finalised");
  section.insertAdjacentHTML("beforeend", `<details><summary>The numbers of ${figures.ranks.length === 1 ? "the rank" : `all ${figures.ranks.length} ranks`}</summary><div class="wide"><table class="data"><thead><tr><td></td>` +
    groups.map((g) => `<th colspan="${figures.quantities.filter((q) => q.group === g).length}" style="text-align:left">${escape(g)}</th>`).join("") + "</tr><tr><th>rank</th>" +
    figures.quantities.map((q) => `<th>${escape(q.name)}</th>`).join("") + `<th>host</th>${ended ? "<th>ended</th>" : ""}</tr></thead><tbody></tbody></table></div></details>`);
  // Thousands of ranks are many cells: they are made when somebody wants to see them.
  $("details", section).addEventListener("toggle", () => {
    $("tbody", section).innerHTML = figures.ranks.map((r) => `<tr><td>${r.rank}</td>` +
      r.values.map((v, i) => `<td>${v === null ? "" : told(v, figures.quantities[i].seconds)}</td>`).join("") + `<td>${escape(r.host)}</td>${ended ? `<td>${r.ended}</td>` : ""}</tr>`).join("");
  }, { once: true });
}

// Without a verdict on the calls, what stands out in the queues comes first.
if (!data.verdict) $("main").prepend($("#findings"));
else $("#findings h2").textContent = "What stands out in the queues and the log";
header();
verdictSection($("#verdict"));
balanceSection($("#balance"));
sitesSection($("#sites"));
flameSection($("#code"));
waitsSection($("#waits"));
figureSection($("#lifetimes"), ["posted queue", "unexpected queue"], ["search-posted", "search-unexpected"]);
figureSection($("#searches"), ["posted queue searches", "unexpected queue searches"], ["search-posted", "search-unexpected"]);
const ONE_SIDED = "one-sided operations";
if (data.over ? data.over.columns.some((c) => c.group === ONE_SIDED) : data.figures && data.figures.quantities.some((q) => q.group === ONE_SIDED)) figureSection($("#windows"), [ONE_SIDED], ["one-sided"]);
else $("#windows").remove();
if (data.network) networkSection($("#network"));
else $("#network").remove();
const events = data.events;
let stretch = null;
if (events && events.rows.length) {
  stretch = new Stretch(events.from_ns, events.to_ns);
  const show = timelineSection($("#timeline"), stretch);
  showPlacesBy((place) => {
    show(place);
    $("#timeline").scrollIntoView();
  });
  moments();
  if (events.lengths.length) lengthsSection($("#lengths"), stretch);
  else if (events.searches) note($("#lengths"), LOG_QUEUES("the lengths of the queues"));
  else note($("#lengths"), events.messages ? "The log has no change of a queue: a program that is killed takes the last few with it."
    : "The log has no message that was sent point-to-point, and so nothing of the queues.");
  redraws.push(() => stretch.set(stretch.from, stretch.to));
} else {
  note($("#timeline"), "This run has no trace: run the program with <code>mel run --trace</code>.");
  if (events && events.lengths.length) lengthsSection($("#lengths"), new Stretch(events.from_ns, events.to_ns));
  else note($("#lengths"), LOG_QUEUES("the lengths of the queues"));
}
if (data.traffic) {
  trafficSection($("#traffic"));
  $("#matrix h2").textContent = "Who sends to whom in the trace";
} else $("#traffic").remove();
if (events && events.matrix) matrixSection($("#matrix"));
else if (data.traffic && !events) $("#matrix").remove();
else if (events && events.calls) note($("#matrix"), "The log has no message that was received point-to-point.");
else note($("#matrix"), "This run has no counts of who sends to whom: run the program with <code>mel run --profile matrix</code>, or with <code>mel run --trace</code>.");
variablesSection($("#variables"), stretch);
attributionSection($("#attribution"));
communicatorTable($("#communicators"));
rankTable($("#ranks"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((redraw) => redraw()));
if (!$("#findings li")) $("#findings").remove();
contents($("#contents"));
keyboard();
