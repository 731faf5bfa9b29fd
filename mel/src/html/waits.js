// Wait states: who waits where, for whom; the worst instances lead to the timeline.

const KINDS_OF_WAIT = { late_sender: "late sender", late_receiver: "late receiver", collective: "last in a collective", window: "window" };

// An instance as a way to its place in the timeline, or as text where there is none.
function instanceLink(instance) {
  const text = `rank ${instance.rank} at ${duration(instance.begin_s, 4)} (${duration(instance.lost_s)})`, events = data.events;
  if (!events || !events.rows.length) return text;
  return placeLink(instance.rank, instance.begin_s * 1e9, instance.lost_s * 1e9, text);
}

// The findings with their worst instances.
function exactWaits(section, findings) {
  const exact = findings.filter((finding) => finding.worst && finding.worst.length);
  if (!exact.length) return;
  section.insertAdjacentHTML("beforeend", `<div class="wide"><table class="data"><tr><th>finding</th><th>lost</th><th>of the run</th><th>calls</th><th>cause</th><th style="text-align:left">where</th><th style="text-align:left">worst instances</th></tr>` +
    exact.map((f) => `<tr><td>${escape(f.rule.replace(/_/g, " "))}</td><td>${duration(f.lost_s)}</td><td>${percent(f.share)}</td><td>${count(f.count)}</td><td>${f.cause_rank === null ? "" : `rank ${f.cause_rank}`}</td>` +
      `<td class="word">${escape(f.site || "")}${f.cause_site ? `<br>for ${escape(f.cause_site)}` : ""}</td><td class="word">${f.worst.slice(0, 3).map(instanceLink).join("<br>")}</td></tr>`).join("") + "</table></div>");
}

function waitsSection(section) {
  const waits = data.calls ? data.calls.waits : [], findings = data.verdict || [];
  if (!waits.length && !findings.some((finding) => finding.worst && finding.worst.length)) return section.remove();
  exactWaits(section, findings);
  // The first instance of each finding, from the verdict too.
  document.querySelectorAll("#verdict .worst").forEach((span) => {
    const finding = findings[span.dataset.finding];
    if (finding.worst && finding.worst.length) span.innerHTML = "worst: " + finding.worst.slice(0, 3).map(instanceLink).join(", ");
  });
  if (!waits.length) return;
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
    words("by ranks", (w) => w.victims.map(([rank]) => rank).join(", ") + (w.victims_all > w.victims.length ? ` and ${w.victims_all - w.victims.length} more` : "")),
  ];
  note(section, `Time lost by calls that waited for another rank, as the sums over the run have it: whom each waited for directly. The verdict follows it back to the first cause.${data.calls.hidden_waits ? ` ${many(data.calls.hidden_waits, "line")} with the least time are left out.` : ""}`);
  new SortedTable(section, columns, waits, columns.findIndex((column) => column.head === "lost"), "search function, line, kind");
}
