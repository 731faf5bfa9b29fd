// From the counts of who sends what to whom, which are sparse, to the sums of those that are chosen.

import { bytes } from "./units.js";
import { rowsOfTable } from "./dom.js";
import { lastBefore } from "./time.js";

// The ranks of a table of runs.
const ranksOf = (runs) => rowsOfTable(runs).flatMap(({ first, count, step }) => Array.from({ length: count }, (_, i) => first + i * step));

export class TrafficSums {
  constructor(traffic) {
    Object.assign(this, { traffic, lists: traffic.lists.map(ranksOf), sizesOf: new Map() });
    for (const size of rowsOfTable(traffic.sizes)) this.sizesOf.has(size.of) ? this.sizesOf.get(size.of).push(size) : this.sizesOf.set(size.of, [size]);
    this.parts = traffic.parts.map((part) => {
      const places = new Float64Array(part.steps.length);
      part.steps.reduce((at, step, i) => places[i] = at + step, 0);
      return { ...part, places, own: rowsOfTable(part.own), together: part.together.map((all) => ({ ...all, senders: ranksOf(all.senders) })) };
    });
  }
  // Messages and bytes of the parts by sender and receiver, in square arrays; `group` has the place of each row of the page among `size`.
  add(parts, group, size) {
    const { amounts, block, size: rows } = this.traffic, messages = new Float64Array(size * size), bytes = new Float64Array(size * size), own = { messages: 0, bytes: 0 };
    const put = (place, amount, times) => {
      messages[place] += amounts.messages[amount] * times;
      bytes[place] += amounts.bytes[amount] * times;
    };
    let unplaced = 0;
    for (const part of parts) {
      unplaced += part.unplaced;
      part.places.forEach((place, i) => put(group[Math.floor(place / rows)] * size + group[place % rows], part.amounts[i], 1));
      part.own.forEach(({ amount }) => { own.messages += amounts.messages[amount]; own.bytes += amounts.bytes[amount]; });
      for (const all of part.together) this.addToAll(all, (rank) => group[Math.floor(rank / block)], size, put);
    }
    return { messages, bytes, own, unplaced, size };
  }
  addToAll({ senders, list, upwards, amount }, groupOf, size, put) {
    const ranks = this.lists[list], sending = new Float64Array(size), receiving = new Float64Array(size), self = new Float64Array(size), from = new Set(senders);
    if (upwards) {
      // From the last on: who comes after a rank is known when it is its turn.
      for (const rank of [...ranks].reverse()) {
        const place = groupOf(rank);
        if (from.has(rank)) for (let to = 0; to < size; to++) if (receiving[to]) put(place * size + to, amount, receiving[to]);
        receiving[place]++;
      }
      return;
    }
    senders.forEach((rank) => sending[groupOf(rank)]++);
    for (const rank of ranks) {
      receiving[groupOf(rank)]++;
      if (from.has(rank)) self[groupOf(rank)]++;
    }
    const receivers = [...receiving.keys()].filter((place) => receiving[place]);
    sending.forEach((number, place) => {
      if (!number) return;
      for (const to of receivers) {
        const times = number * receiving[to] - (to === place ? self[place] : 0);
        if (times) put(place * size + to, amount, times);
      }
    });
  }
  // How many messages have which size, from some rows of the page to others.
  sizes(parts, from, to) {
    const { block, size: rows } = this.traffic, bins = new Map();
    const put = (amount, times) => {
      for (const { bin, messages } of this.sizesOf.get(amount) || []) bins.set(bin, (bins.get(bin) || 0) + messages * times);
    };
    const [senders, receivers] = [new Set(from), new Set(to)];
    for (const part of parts) {
      if (from.length === 1 && to.length === 1) {
        const place = from[0] * rows + to[0], i = lastBefore(part.places, place);
        if (part.places[i] === place) put(part.amounts[i], 1);
      } else {
        part.places.forEach((place, i) => { if (senders.has(Math.floor(place / rows)) && receivers.has(place % rows)) put(part.amounts[i], 1); });
      }
      for (const all of part.together) {
        const row = (rank) => Math.floor(rank / block), list = this.lists[all.list], sending = new Set(all.senders);
        let before = 0, times = 0, selves = 0, number = 0;
        // Upwards: for each receiver those who send and come before it in the list.
        for (const rank of list) {
          const sends = sending.has(rank) && senders.has(row(rank)), receives = receivers.has(row(rank));
          if (receives) [number, times, selves] = [number + 1, times + before, selves + (sends ? 1 : 0)];
          if (sends) before++;
        }
        put(all.amount, all.upwards ? times : all.senders.filter((rank) => senders.has(row(rank))).length * number - selves);
      }
    }
    return [...bins].filter(([, number]) => number).sort((a, b) => a[0] - b[0]);
  }
}

// The sizes of a bin as a text.
export const binName = (bin) => bin === 0 ? "empty" : bin === 1 ? bytes(1) : bin > 63 ? "\u2265\u202f" + bytes(2 ** 63) : bin < 14 ? `${2 ** (bin - 1)}\u2013${bytes(2 ** bin - 1)}` : `${bytes(2 ** (bin - 1))} \u2013 <\u202f${bytes(2 ** bin)}`;
