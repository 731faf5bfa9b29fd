// What is known of a block of the timeline.

const OPERATIONS = ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];
// Numbers of each message and operation among the attributes of a call.
const GROUP = 6;

// What is known of a slice, as the text of its tooltip.
function sliceTip(row, i) {
  const events = data.events, name = events.names[row.names[i]], several = row.manyOf.get(i);
  const lines = [["rank", row.rank + (row.thread && row.kind === "calls" ? `, thread ${row.thread}` : "")], ["begins", duration(row.start[i] * 1e-9, 9)]];
  const attributes = row.attributesOf.get(i), site = row.sites[i] ? events.sites[row.sites[i] - 1] : "";
  if (several) {
    const [, number, busy, longest] = several;
    lines.push(["drawn together", `${count(number)} within ${duration((row.end[i] - row.start[i]) * 1e-9)}`],
      ["take together", duration(busy * 1e-9)], ["the longest", `${name.name}, ${duration(longest * 1e-9)}`]);
    if (site) lines.push(["which is called at", site]);
    return `<b>${count(number)} ${row.kind}</b>` + rowsOf(lines);
  }
  lines.push(["takes", duration((row.end[i] - row.start[i]) * 1e-9)]);
  if (site) lines.push(["called at", site]);
  const comm = (number) => number >= 0 ? events.communicators[number] : "unknown";
  if (attributes && row.kind === "epochs") {
    const [target, window, operations, size] = attributes;
    lines.push(["window", window], ["target", target < 0 ? "all" : `rank ${target}`], ["operations", `${count(operations)}, ${bytes(size)}`]);
  } else if (attributes && row.kind === "searches") {
    name.elements.forEach((element, e) => lines.push([element, attributes[e] === -1 && /^(source|tag)$/.test(element) ? "any" : attributes[e]]));
    lines.push(["communicator", comm(attributes[name.elements.length])]);
  } else if (attributes) {
    for (let a = 0; a + GROUP <= attributes.length; a += GROUP) {
      const [what, peer, tag, size, on, waited] = attributes.slice(a, a + GROUP);
      if (what === 2) {
        if (peer >= 0) lines.push(["root", `rank ${peer}`]);
        lines.push(["sends", bytes(size)], ["receives", bytes(tag)], ["communicator", comm(on)]);
      } else if (what === 9) {
        lines.push(["completes", peer === 1 ? "1 operation" : `${count(peer)} operations`], [peer === 1 ? "it took" : "the longest took", duration(tag * 1e-9)]);
      } else if (what === 10) {
        if (peer) lines.push(["moved to others below", `${bytes(tag)} in ${count(peer)}`]);
        if (waited) lines.push(["moved from others below", `${bytes(size)} in ${count(waited)}`]);
      } else if (what > 2) {
        lines.push([OPERATIONS[what - 3], `rank ${peer}, ${bytes(size)}, window ${tag}`]);
      } else {
        lines.push([what ? "sent to" : "received from", `rank ${peer}, tag ${tag}, ${bytes(size)}, ${comm(on)}`]);
        if (waited) lines.push(["was unexpected for", duration(waited * 1e-9)]);
      }
    }
    if (attributes.length % GROUP === 1) lines.push([row.attributesOf.get(i)[0] > 2 ? "operations" : "messages", `${attributes[attributes.length - 1]} in all`]);
  }
  return `<b>${escape(name.name)}</b>` + rowsOf(lines);
}
