// Tables: one that can be searched and sorted by each of its columns, and cells with bars.

import { count } from "./units.js";
import { $, escape } from "./dom.js";

// Rows that are shown at once; more on demand.
const SHOWN_ROWS = 20;

// Columns have: a head, the text of a row, its value to sort by, and whether that is a number. Searching goes through all texts that
// are not numbers; each word must be found.
export class SortedTable {
  constructor(section, columns, rows, sortedBy, placeholder) {
    section.insertAdjacentHTML("beforeend", `<div class="searched"></div>`);
    const box = section.lastElementChild;
    Object.assign(this, { columns, sorted: sortedBy, down: true, most: SHOWN_ROWS, words: [] });
    const words = columns.filter((column) => !column.number);
    this.rows = rows.map((row) => ({ row, text: words.map((column) => column.value(row)).join(" ").toLowerCase() }));
    box.insertAdjacentHTML("beforeend", (rows.length > 8 ? `<div class="controls"><input type="search" placeholder="${placeholder}" aria-label="${placeholder}"><span class="note matches"></span></div>` : "") +
      `<div class="wide"><table class="data sorted"><thead><tr>${columns.map((column, i) => `<th aria-sort="none"${column.number ? "" : ` class="word"`}><button data-column="${i}">${column.head}</button></th>`).join("")}</tr></thead><tbody></tbody></table></div><p class="more"></p>`);
    this.box = box;
    box.addEventListener("input", (event) => {
      if (event.target.type !== "search") return;
      this.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.draw();
    });
    box.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.column) this.sort(Number(button.dataset.column));
      if ("more" in button.dataset) {
        this.most *= 5;
        this.draw();
      }
    });
    this.draw();
  }
  // By the same column again: the other way round.
  sort(column) {
    this.down = column === this.sorted ? !this.down : Boolean(this.columns[column].number);
    this.sorted = column;
    this.draw();
  }
  draw() {
    const { columns, box, sorted, down } = this, { value, number } = columns[sorted];
    const found = this.rows.filter(({ text }) => this.words.every((word) => text.includes(word)));
    // What has no value comes last, either way.
    const compare = (a, b) => {
      const [x, y] = [value(a.row), value(b.row)], [empty, other] = [x, y].map((v) => v === null || v === "");
      if (empty || other) return empty - other;
      return (down ? -1 : 1) * (number ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    };
    found.sort(compare);
    $("tbody", box).innerHTML = found.slice(0, this.most).map(({ row }) => `<tr>${columns.map((column) => column.number ? `<td>${column.text(row)}</td>` : `<td class="word" title="${escape(column.value(row))}">${column.text(row)}</td>`).join("")}</tr>`).join("");
    box.querySelectorAll("th").forEach((th, i) => th.setAttribute("aria-sort", i === sorted ? (down ? "descending" : "ascending") : "none"));
    const matches = $(".matches", box);
    if (matches) matches.textContent = this.words.length ? `${count(found.length)} of ${count(this.rows.length)}` : `${count(this.rows.length)} in all`;
    $(".more", box).innerHTML = found.length > this.most ? `<button data-more>${count(Math.min(found.length - this.most, this.most * 4))} more${found.length > this.most * 5 ? ` of ${count(found.length - this.most)}` : ""}</button>` : "";
  }
}
// A number, with a bar behind it that shows it as a part of the largest.
export const withBar = (text, part) => `<span class="part" style="--part:${(Math.max(0, Math.min(1, part)) * 100).toFixed(1)}%">${text}</span>`;
export const orNothing = (value, tell) => value ? tell(value) : "";

export const pairTable = (title, lines, heads) => `<table class="data"><tr><th>${title}</th>${heads.map((head) => `<th>${head}</th>`).join("")}</tr>` +
  lines.map((line) => `<tr>${line.map((text) => `<td>${text}</td>`).join("")}</tr>`).join("") + "</table>";
