// The stretch of time that timeline, curve and queue lengths show together, and times that are searched.

// The stretch of time that is shown, in nanoseconds.
class Stretch {
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
function unpack(columns) {
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
function lastBefore(start, time) {
  let low = 0, high = start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
