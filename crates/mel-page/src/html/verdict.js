// What costs time: the verdict in at most five sentences, and who waits where for whom. The worst instances lead to the timeline.

import { count, duration, many, percent, seconds } from "./units.js";
import { data, escape, note } from "./dom.js";
import { SortedTable, withBar } from "./tables.js";
import { placeLink } from "./time.js";
import { onCommunicator, siteName } from "./sites.js";

const MOST_FINDINGS = 5;
const rankNames = (ranks, most = 6) =>
  ranks.length === 0 ? "" : `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.slice(0, most).join(", ")}${ranks.length > most ? ` and ${many(ranks.length - most, "other")}` : ""}`;

// The facts of a finding, as a list of words and values.
function findingFacts(finding) {
  const facts = [];
  if (finding.cause_rank !== null) facts.push(["cause", `<b>rank ${finding.cause_rank}</b>${finding.cause_site ? ` at <code>${escape(finding.cause_site)}</code>` : ""}`]);
  else if (finding.cause_site) facts.push(["cause", `<code>${escape(finding.cause_site)}</code>`]);
  if (finding.site) facts.push(["time lost at", `<code>${escape(finding.site)}</code>`]);
  if (finding.victims.length) facts.push(["by", escape(rankNames(finding.victims))]);
  if (finding.communicator) facts.push(["on", escape(finding.communicator)]);
  facts.push(["lost", `${duration(finding.lost_s)} in ${many(finding.count, "call")}${finding.basis === "exact" ? "" : ", estimated"}`]);
  return facts;
}

// From this efficiency on a part of the tree is not worth a look.
const GOOD = 0.8;

// How well the ranks are used: the sentence, the tree in which each number is the product of those below it, and those of phases and regions.
function efficiencies({ told, of, parts }) {
  const leaf = (row) => `<li style="--depth:${row.depth}"${row.share < GOOD ? ' class="low"' : ""}><span class="name">${escape(row.name)}</span><span class="meter"><i style="width:${(100 * row.share).toFixed(1)}%"></i></span><b>${percent(row.share)}</b><small>${escape(row.means)}</small></li>`;
  const tree = `<p class="note efficiency">${escape(told)}</p><ul class="tree" aria-label="Efficiencies: each is the product of those below it">${of.map(leaf).join("")}</ul>`;
  const cell = (share) => share === null ? "<td></td>" : `<td${share < GOOD ? ' class="low"' : ""}>${percent(share)}</td>`;
  const row = (part) => `<tr><td style="padding-left:${part.depth + 0.5}em">${escape(part.name)}</td>${part.shares.map(cell).join("")}</tr>`;
  const table = ({ what, head, rows }) => `<details><summary>Of ${what}s</summary><div class="wide"><table class="data"><thead><tr><td>${what}</td>${head.map((name) => `<td>${escape(name)}</td>`).join("")}</tr></thead><tbody>${rows.map(row).join("")}</tbody></table></div></details>`;
  return tree + parts.map(table).join("");
}

// The colours of the parts of the time, by their names.
const PARTS = {
  computing: "var(--computing)", "waiting for others": "repeating-linear-gradient(135deg, var(--waiting) 0 3px, var(--waiting-stripe) 3px 6px)",
  queues: "var(--search-unexpected)", files: "var(--files)", "not explained": "repeating-linear-gradient(45deg, var(--other) 0 1px, var(--panel) 1px 5px)",
};

// Where the time of all ranks goes, as one bar.
export function budgetBar(box) {
  const parts = data.budget_parts.filter((part) => part.share >= 0.0005);
  if (!parts.length) return box.remove();
  const colour = (part) => PARTS[part.name] || "var(--send)", told = (part) => `${percent(part.share)} ${part.name}`;
  box.innerHTML = `<div class="budget" role="img" aria-label="The time of all ranks: ${escape(parts.map(told).join(", "))}">` +
    parts.map((part) => `<i style="flex-grow:${part.share};background:${colour(part)}" data-tip="${escape(told(part))}"></i>`).join("") +
    `</div><p class="legend">${parts.map((part) => `<span><i style="background:${colour(part)}"></i>${escape(told(part))}</span>`).join("")}</p>`;
}

export function verdictSection(section) {
  const verdict = data.verdict;
  if (!verdict) return section.remove();
  if (data.efficiency) section.insertAdjacentHTML("beforeend", efficiencies(data.efficiency));
  if (data.critical_path) note(section, escape(data.critical_path));
  section.insertAdjacentHTML("beforeend", (data.budget || []).map((line) => `<p class="note">${escape(line)}</p>`).join(""));
  if (!verdict.length) {
    section.insertAdjacentHTML("beforeend", `<p class="fine">${escape(data.without_findings || "")}</p>`);
    return;
  }
  section.insertAdjacentHTML("beforeend", `<ol class="verdict">` + verdict.slice(0, MOST_FINDINGS).map((finding, i) =>
    `<li><div class="share" title="share of the time of all ranks"><b>${finding.share >= 0.0995 ? Math.round(finding.share * 100) + "\u202f%" : percent(finding.share)}</b><i style="width:${Math.min(100, finding.share * 100)}%"></i></div>` +
    `<div><p class="text">${escape(finding.text)}</p>${finding.why ? `<p class="text">${escape(finding.why)}</p>` : ""}${finding.advice ? `<p class="advice">${escape(finding.advice)}</p>` : ""}` +
    `<p class="facts">${findingFacts(finding).map(([word, value]) => `<span>${word} ${value}</span>`).join("")}<span class="worst" data-finding="${i}"></span></p></div></li>`).join("") + "</ol>" +
    (verdict.length > MOST_FINDINGS ? `<p class="note">${many(verdict.length - MOST_FINDINGS, "more finding")}: <a href="#waits">wait states</a>.</p>` : ""));
}
const KINDS_OF_WAIT = { late_sender: "late sender", late_receiver: "late receiver", without_progress: "receiver outside of MPI", collective: "last in a collective", late_member: "late member of a collective", window: "window", polling: "polling" };

// An instance as a way to its place in the timeline, or as text where that is not shown.
function instanceLink(instance) {
  const text = `rank ${instance.rank} at ${duration(instance.begin_s, 4)} (${duration(instance.lost_s)})`, events = data.events, begin = instance.begin_s * 1e9;
  if (!events || !events.rows.length || begin > events.to_ns || begin < events.from_ns) return text;
  return placeLink(instance.rank, begin, instance.lost_s * 1e9, text);
}

// The findings of the trace with their worst instances.
function exactWaits(section, findings) {
  const words = (head, value) => ({ head, value, text: (f) => escape(value(f)) }), number = (head, value, text) => ({ head, value, text, number: true });
  const most = Math.max(...findings.map((f) => f.lost_s)), columns = [
    words("finding", (f) => f.rule.replace(/_/g, " ")), ...(findings.some((f) => f.site) ? [words("at", (f) => f.site || "")] : []),
    ...(findings.some((f) => f.communicator) ? [words("communicator", (f) => f.communicator || "")] : []),
    number("cause:<br>rank", (f) => f.cause_rank, (f) => f.cause_rank === null ? "" : `<b>${f.cause_rank}</b>`),
    ...(findings.some((f) => f.cause_site) ? [words("at its", (f) => f.cause_site || "")] : []),
    number("lost", (f) => f.lost_s, (f) => withBar(duration(f.lost_s), f.lost_s / most)), number("of the<br>run", (f) => f.share, (f) => percent(f.share)),
    number("times", (f) => f.count, (f) => count(f.count)), words("by ranks", (f) => f.victims.slice(0, 4).join(", ") + (f.victims.length > 4 ? ` and ${f.victims.length - 4} more` : "")),
    { head: "worst", value: () => "", text: (f) => (f.worst || []).slice(0, 2).map(instanceLink).join("<br>") },
  ];
  section.insertAdjacentHTML("beforeend", `<h3>From each call of the trace</h3>`);
  new SortedTable(section, columns, findings, columns.findIndex((column) => column.head === "lost"), "search finding, line, communicator");
}

// How much of nonblocking messages was hidden behind work.
function hidden(section, pairs) {
  section.insertAdjacentHTML("beforeend", `<h3>Hidden behind work</h3>`);
  note(section, `${data.overlap_is}. A low overlap says nothing by itself: the sender may be late.`);
  const words = (head, value) => ({ head, value, text: (of) => escape(value(of)) }), number = (head, value, text) => ({ head, value, text, number: true });
  const columns = [
    words("started by", (of) => of.started), words("waited for by", (of) => of.completed), number("operations", (of) => of.operations, (of) => count(of.operations)),
    number("work<br>meanwhile", (of) => of.work_s, (of) => duration(of.work_s)), number("waited", (of) => of.waited_s, (of) => duration(of.waited_s)),
    number("overlap", (of) => of.overlap, (of) => withBar(percent(of.overlap), of.overlap)),
  ];
  new SortedTable(section, columns, pairs, columns.findIndex((column) => column.head === "waited"), "search line");
}

// Which protocol would suit long messages.
function protocols(section, pairs) {
  section.insertAdjacentHTML("beforeend", `<h3>Long messages by protocol</h3>`);
  note(section, `${data.protocols_are}. Read: by the receiver, when it is announced; write: by the sender, after an answer; asked: by the sender, when the receiver has asked.`);
  const words = (head, value) => ({ head, value, text: (of) => escape(value(of)) }), number = (head, value, text) => ({ head, value, text, number: true });
  const lost = (name) => number(name, (of) => of[`${name}_s`], (of) => duration(of[`${name}_s`]));
  const columns = [
    words("sent by", (of) => of.sent), words("received by", (of) => of.received), number("messages", (of) => of.messages, (of) => count(of.messages)),
    number("sent<br>first", (of) => of.sent_first / of.messages, (of) => percent(of.sent_first / of.messages)), lost("read"), lost("write"), lost("asked"), words("best", (of) => of.best),
  ];
  new SortedTable(section, columns, pairs, columns.findIndex((column) => column.head === "write"), "search line");
}

export function waitsSection(section) {
  const waits = data.calls ? data.calls.waits : [], verdict = data.verdict || [], exact = data.exact || verdict.filter((f) => f.worst && f.worst.length);
  if (!waits.length && !exact.length && !data.overlap.length && !data.rendezvous.length) return section.remove();
  if (exact.length) exactWaits(section, exact);
  // The worst instances of each finding, from the verdict too.
  document.querySelectorAll("#verdict .worst").forEach((span) => {
    const { worst } = verdict[span.dataset.finding];
    if (worst && worst.length) span.innerHTML = "worst: " + worst.slice(0, 3).map(instanceLink).join(", ");
  });
  if (waits.length) fromSums(section, waits, exact.length > 0);
  if (data.overlap.length) hidden(section, data.overlap);
  if (data.rendezvous.length) protocols(section, data.rendezvous);
}

// What waited for whom, as the sums of the profile have it.
function fromSums(section, waits, besides) {
  const most = Math.max(...waits.map((wait) => wait.lost_ns), 1), { functions, run_ns: run } = data.calls;
  const words = (head, value) => ({ head, value, text: (wait) => escape(value(wait)) });
  const number = (head, value, text) => ({ head, value, text, number: true });
  const columns = [
    words("kind", (w) => KINDS_OF_WAIT[w.kind] || w.kind), words("waits in", (w) => functions[w.function].name), words("at", (w) => siteName(w.site)),
    ...(waits.some((w) => w.communicator !== null) ? [words("communicator", (w) => onCommunicator(w.communicator))] : []),
    number("for<br>rank", (w) => w.cause_rank, (w) => w.cause_rank === null ? "" : `<b>${w.cause_rank}</b>`),
    ...(waits.some((w) => w.cause_site !== null) ? [words("which comes late to", (w) => siteName(w.cause_site))] : []),
    number("lost", (w) => w.lost_ns, (w) => withBar(seconds(w.lost_ns), w.lost_ns / most)), number("of the<br>run", (w) => w.lost_ns, (w) => percent(w.lost_ns / (run || 1))),
    number("times", (w) => w.count, (w) => count(w.count)), number("longest", (w) => w.max_ns, (w) => seconds(w.max_ns)),
    words("by ranks", (w) => w.victims.slice(0, 4).map(({ rank }) => rank).join(", ") + (w.victims_all > 4 ? ` and ${w.victims_all - 4} more` : "")),
  ];
  if (besides) section.insertAdjacentHTML("beforeend", `<h3>From the sums of the profile</h3>`);
  note(section, `Time lost by calls that waited for another rank, as the sums over the run have it: whom each waited for directly. The verdict follows it back to the first cause.${data.calls.hidden_waits ? ` ${many(data.calls.hidden_waits, "line")} with the least time are left out.` : ""}`);
  new SortedTable(section, columns, waits, columns.findIndex((column) => column.head === "lost"), "search function, line, kind");
}
