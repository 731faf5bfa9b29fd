// What costs time: the verdict in at most five sentences, each with its share, its cause, its lines and what to do.

const MOST_FINDINGS = 5;
const percent = (share) => {
  const value = share * 100;
  return (value === 0 ? "0" : value < 0.01 ? "< 0.01" : Number(value.toPrecision(value < 10 ? 2 : 3))) + "\u202f%";
};
const rankNames = (ranks, most = 6) =>
  ranks.length === 0 ? "" : `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.slice(0, most).join(", ")}${ranks.length > most ? ` and ${many(ranks.length - most, "other")}` : ""}`;
const seconds = (ns) => duration(ns * 1e-9);

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

function verdictSection(section) {
  const verdict = data.verdict, calls = data.calls;
  if (!verdict) return section.remove();
  if (!verdict.length) {
    const share = calls && calls.run_ns ? ` It takes ${percent(calls.mpi_ns / calls.run_ns)} of the run.` : "";
    section.insertAdjacentHTML("beforeend", `<p class="fine">MPI is not what holds this program back.${share}</p>`);
    return;
  }
  section.insertAdjacentHTML("beforeend", `<ol class="verdict">` + verdict.slice(0, MOST_FINDINGS).map((finding, i) =>
    `<li><div class="share" title="share of the time of all ranks"><b>${finding.share >= 0.0995 ? Math.round(finding.share * 100) + "\u202f%" : percent(finding.share)}</b><i style="width:${Math.min(100, finding.share * 100)}%"></i></div>` +
    `<div><p class="text">${escape(finding.text)}</p>${finding.advice ? `<p class="advice">${escape(finding.advice)}</p>` : ""}` +
    `<p class="facts">${findingFacts(finding).map(([word, value]) => `<span>${word} ${value}</span>`).join("")}<span class="worst" data-finding="${i}"></span></p></div></li>`).join("") + "</ol>" +
    (verdict.length > MOST_FINDINGS ? `<p class="note">${many(verdict.length - MOST_FINDINGS, "more finding")}: <a href="#waits">wait states</a>.</p>` : ""));
}
