// Where the rank that the verdict names computes: a flame graph of its sampled stacks, coloured by what is longer than at the others.

import { duration } from "./units.js";
import { data, escape } from "./dom.js";

const ROW = 22;

// A function as a bar: as wide as its time, below the one that calls it.
function bars(node, left, width, depth, most, into) {
  if (width < 0.15) return depth;
  const more = node.seconds - node.usual_s, share = Math.max(0, Math.min(1, most > 0 ? more / most : 0));
  const tip = `${node.name}\n${duration(node.seconds)}; the others ${duration(node.usual_s)}`;
  into.push(`<li class="flame" tabindex="0" data-tip="${escape(tip)}" aria-label="${escape(tip.replace("\n", ": "))}" style="left:${left.toFixed(3)}%;width:${width.toFixed(3)}%;top:${depth * ROW}px;--more:${(share * 100).toFixed(0)}%">${escape(node.name)}</li>`);
  let deepest = depth, at = left;
  for (const child of node.children) {
    const own = width * child.seconds / node.seconds;
    deepest = Math.max(deepest, bars(child, at, own, depth + 1, most, into));
    at += own;
  }
  return deepest;
}

export function flameSection(section) {
  const code = data.code;
  if (!code || !(code.whole.seconds > 0)) return section.remove();
  const into = [], most = Math.max(...code.whole.children.map((node) => node.seconds - node.usual_s), 0);
  const deepest = bars({ ...code.whole, name: `rank ${code.rank}` }, 0, 100, 0, most, into);
  const others = code.others === 1 ? "the other rank" : `the median of the ${code.others} others`;
  section.insertAdjacentHTML("beforeend", `<p class="note">Stacks of rank ${code.rank} outside of MPI, sampled: a bar is as wide as the time in a function and in what it calls, below its caller. The darker, the longer than ${code.others ? others : "nobody"}: ${duration(code.whole.seconds)} in all, against ${duration(code.whole.usual_s)}.</p>` +
    `<ul class="flames" style="height:${(deepest + 1) * ROW}px">${into.join("")}</ul>`);
}
