// The stretch of time that timeline, curve and queue lengths show together, times that are searched, and places in the timeline that
// other parts of the page lead to.

export const places = [];
// How one of them is shown: set where there is a timeline.
let show = null;
export const showPlacesBy = (shows) => { show = shows; };
export function goTo(place) {
  if (show) show(place);
}

// A way to a rank and a time, with what is around it. Times in nanoseconds.
export function placeLink(rank, from, length, text) {
  const around = Math.max(length * 5, 5000);
  places.push({ rank, from: from - around, to: from + length + around, marked: [from, from + length] });
  return `<button class="link" data-moment="${places.length - 1}">${text}</button>`;
}

document.addEventListener("click", (event) => {
  const place = event.target.dataset && places[event.target.dataset.moment];
  if (place) goTo(place);
});
// The stretch of time that is shown, in nanoseconds.
export class Stretch {
  constructor(from, to) {
    Object.assign(this, { first: from, last: to, from, to, hears: [] });
  }
  set(from, to) {
    const least = 50, span = Math.min(Math.max(to - from, least), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - span);
    this.to = this.from + span;
    this.hears.forEach((hear) => hear());
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.set(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  move(share) {
    const by = (this.to - this.from) * share;
    this.set(this.from + by, this.to + by);
  }
}

// From columns of differences to arrays that can be searched.
export function unpack(columns) {
  const start = new Float64Array(columns.steps.length), end = new Float64Array(columns.steps.length);
  let at = 0;
  columns.steps.forEach((step, i) => {
    at += step;
    start[i] = at;
    end[i] = at + columns.durations[i];
  });
  return { ...columns, start, end };
}

// The last index whose start is at most the time; -1 if there is none.
export function lastBefore(start, time) {
  let low = 0, high = start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
