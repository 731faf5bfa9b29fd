// A square of coloured cells: labels, lines between blocks, sums at its edges, a scale. A rectangle that is drawn with the mouse zooms.

import { roundTicks, short } from "./units.js";
import { $, color, hideTip, mix, rgb, showTip } from "./dom.js";

const SQUARE_MOST = 620, CELL_MOST = 90, SUMS = 64, BESIDE = 470, FONT = "11px system-ui, 'DejaVu Sans', sans-serif";

// What is shown has: `rows` and `columns`; `values`, one row after the other, NaN where there is nothing; `tell`, which makes a text of a value;
// `rowName` and `columnName`; `words` for rows and columns. And, if wanted: `rowSums`, `columnSums`; `rowBorders`, `columnBorders`, where
// blocks begin; `named`, if rows have names instead of numbers.
export class Square {
  constructor(box, { label, tip, sumTip, pick }) {
    Object.assign(this, { tip, sumTip, pick, dragged: null });
    box.insertAdjacentHTML("beforeend", `<div class="square"><canvas tabindex="0" role="img" aria-label="${label}"></canvas>
      <p class="note">Draw a rectangle to zoom into it; a double click, or <button class="link" data-whole>here</button>, shows all. Keys: + and \u2212, arrows, 0.</p></div>`);
    this.box = box.lastElementChild;
    this.canvas = $("canvas", this.box);
    $("[data-whole]", this.box).addEventListener("click", () => this.zoomTo(null));
    this.listen();
  }
  // The zoom stays where the size does.
  show(content) {
    const same = this.content && this.content.rows === content.rows && this.content.columns === content.columns;
    this.content = content;
    this.image = null;
    if (!same) this.view = null;
    this.draw();
  }
  get whole() {
    return { top: 0, bottom: this.content.rows, left: 0, right: this.content.columns };
  }
  // A part in whole rows and columns; none for all.
  zoomTo(view) {
    if (view) {
      const { rows, columns } = this.content, within = (from, to, end) => {
        const span = Math.min(end, Math.max(1, Math.round(to - from))), first = Math.min(end - span, Math.max(0, Math.round(from)));
        return [first, first + span];
      };
      const [top, bottom] = within(view.top, view.bottom, rows), [left, right] = within(view.left, view.right, columns);
      view = { top, bottom, left, right };
    }
    this.view = view;
    this.image = null;
    this.draw();
  }
  zoom(factor, row = 0.5, column = 0.5) {
    const { top, bottom, left, right } = this.view || this.whole, shrink = (from, to, share) => {
      // Each step changes something.
      const span = factor < 1 ? Math.floor((to - from) * factor) : Math.ceil((to - from) * factor), first = from + (to - from - span) * share;
      return [first, first + span];
    };
    const [t, b] = shrink(top, bottom, row), [l, r] = shrink(left, right, column);
    this.zoomTo({ top: t, bottom: b, left: l, right: r });
  }
  move(rows, columns) {
    const { top, bottom, left, right } = this.view || this.whole, by = (share, span) => Math.sign(share) * Math.max(1, Math.abs(share) * span);
    const [down, aside] = [rows ? by(rows, bottom - top) : 0, columns ? by(columns, right - left) : 0];
    this.zoomTo({ top: top + down, bottom: bottom + down, left: left + aside, right: right + aside });
  }
  // Margins and sizes in pixels of the page.
  measure() {
    const { content } = this, pen = this.canvas.getContext("2d"), shown = this.view || this.whole;
    pen.font = FONT;
    const rowNames = content.named ? Array.from({ length: content.rows }, (_, i) => content.rowName(i)) : [content.rowName(content.rows - 1)];
    const columnNames = content.named || content.columns < 3 ? Array.from({ length: content.columns }, (_, i) => content.columnName(i)) : [content.columnName(content.columns - 1)];
    const widest = (names) => Math.min(130, names.reduce((most, name) => Math.max(most, pen.measureText(name).width), 0));
    const left = Math.max(54, widest(rowNames) + 32), room = this.box.closest("section").clientWidth - left - 170;
    // A table stands beside it, where there is room for both.
    const most = Math.max(160, Math.min(SQUARE_MOST, room > 2 * BESIDE ? room - BESIDE : room)), width = Math.min(most, CELL_MOST * content.columns), height = Math.min(most, CELL_MOST * content.rows);
    const turned = content.named && widest(columnNames) > width / (shown.right - shown.left) - 4;
    Object.assign(this, { left, top: turned ? widest(columnNames) + 34 : 40, width, height, turned });
    this.cell = { width: width / (shown.right - shown.left), height: height / (shown.bottom - shown.top) };
    this.size = [left + width + (content.rowSums ? SUMS + 16 : 0) + 90, this.top + Math.max(height, 120) + (content.columnSums ? SUMS + 14 : 8)];
  }
  // The colours of all cells, in pixels of the screen: of cells that share a pixel the greatest is seen.
  paint(ratio) {
    const { content } = this, { top, bottom, left, right } = this.view || this.whole;
    const width = Math.round(this.width * ratio), height = Math.round(this.height * ratio), shares = new Float32Array(width * height).fill(-1);
    const [across, down] = [width / (right - left), height / (bottom - top)], gap = this.cell.width > 5 && this.cell.height > 5 ? Math.round(ratio) : 0;
    for (let row = top; row < bottom; row++) {
      const y = Math.floor((row - top) * down + 1e-6), below = Math.max(y + 1, Math.floor((row + 1 - top) * down + 1e-6) - gap);
      for (let column = left; column < right; column++) {
        const value = content.values[row * content.columns + column];
        if (Number.isNaN(value)) continue;
        const share = this.share(value), x = Math.floor((column - left) * across + 1e-6), beside = Math.max(x + 1, Math.floor((column + 1 - left) * across + 1e-6) - gap);
        for (let i = y; i < below && i < height; i++) for (let j = x; j < beside && j < width; j++) if (shares[i * width + j] < share) shares[i * width + j] = share;
      }
    }
    const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer), word = (text) => new Uint32Array(new Uint8Array([...rgb(text), 255]).buffer)[0];
    const shades = Array.from({ length: 256 }, (_, i) => word(mix(color("low"), color("high"), i / 255))), empty = word(color("panel"));
    shares.forEach((share, i) => { pixels[i] = share < 0 ? empty : shades[Math.round(share * 255)]; });
    return image;
  }
  // Of its colour, by powers of ten from the least to the greatest.
  share(value) {
    return value <= this.least ? (this.least === this.greatest ? 1 : 0) : Math.log(value / this.least) / Math.log(this.greatest / this.least);
  }
  draw() {
    const { content, canvas } = this, ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    this.measure();
    const { left, top, width, height, cell, size: [wide, tall] } = this;
    Object.assign(canvas.style, { width: wide + "px", height: tall + "px" });
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(tall * ratio)];
    if (!this.image) {
      [this.least, this.greatest] = [Infinity, 0];
      for (const value of content.values) {
        if (value > this.greatest) this.greatest = value;
        if (value > 0 && value < this.least) this.least = value;
      }
      if (!this.greatest) this.least = this.greatest = 1;
      // What differs by little has nearly the same colour.
      if (this.least < this.greatest) this.least = Math.min(this.least, this.greatest / 10);
      this.image = this.paint(ratio);
    }
    pen.putImageData(this.image, Math.round(left * ratio), Math.round(top * ratio));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    const shown = this.view || this.whole;
    canvas.dataset.view = [shown.top, shown.bottom, shown.left, shown.right].join(" ");
    if (cell.width >= 36 && cell.height >= 16) this.numbers(pen, shown);
    this.borders(pen, shown);
    this.labels(pen, shown);
    if (content.rowSums) this.sums(pen, shown);
    this.scale(pen, left + width + (content.rowSums ? SUMS + 16 : 0) + 14);
    if (this.dragged) {
      const [x, y, to, down] = this.dragged;
      pen.strokeStyle = color("ink");
      pen.strokeRect(Math.min(x, to) + 0.5, Math.min(y, down) + 0.5, Math.abs(to - x), Math.abs(down - y));
    }
  }
  x(column) {
    return this.left + (column - (this.view || this.whole).left) * this.cell.width;
  }
  y(row) {
    return this.top + (row - (this.view || this.whole).top) * this.cell.height;
  }
  numbers(pen, { top, bottom, left, right }) {
    pen.textAlign = "center";
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        const value = this.content.values[row * this.content.columns + column];
        if (Number.isNaN(value)) continue;
        pen.fillStyle = this.share(value) > 0.5 ? color("paper") : color("ink");
        pen.fillText(short(value), this.x(column + 0.5), this.y(row + 0.5) + 4);
      }
    }
  }
  // Where lines would lie closer than they can be told apart there are none.
  borders(pen, { top, bottom, left, right }) {
    const { rowBorders = [], columnBorders = [] } = this.content;
    pen.fillStyle = color("faint");
    const rows = rowBorders.filter((row) => row > top && row < bottom), columns = columnBorders.filter((column) => column > left && column < right);
    // Many are fainter than few.
    const lines = (number, size, draw) => {
      const apart = size / (number + 1);
      pen.globalAlpha = apart < 8 ? 0 : Math.min(0.8, apart / 50);
      draw();
      pen.globalAlpha = 1;
    };
    lines(rows.length, this.height, () => rows.forEach((row) => pen.fillRect(this.left, this.y(row) - 0.5, this.width, 1)));
    lines(columns.length, this.width, () => columns.forEach((column) => pen.fillRect(this.x(column) - 0.5, this.top, 1, this.height)));
  }
  labels(pen, { top, bottom, left, right }) {
    const { content } = this, cut = (name) => name.length > 20 ? name.slice(0, 19) + "\u2026" : name;
    // Ranks have round numbers, names come one after the other.
    const places = (from, to, room) => content.named || to - from <= room ? Array.from({ length: Math.ceil((to - from) / Math.max(1, Math.ceil((to - from) / room))) }, (_, i) => from + i * Math.max(1, Math.ceil((to - from) / room)))
      : roundTicks(from, to - 1, room).filter(Number.isInteger);
    pen.fillStyle = color("faint");
    pen.textAlign = "right";
    for (const row of places(top, bottom, Math.max(1, Math.floor(this.height / (content.named ? 14 : 26))))) pen.fillText(cut(content.rowName(row)), this.left - 6, this.y(row + 0.5) + 4);
    for (const column of places(left, right, Math.max(1, Math.floor(this.width / (this.turned ? 14 : content.columns < 3 ? 1 : 38))))) {
      pen.save();
      pen.translate(this.x(column + 0.5), this.top - 6);
      if (this.turned) {
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        pen.fillText(cut(content.columnName(column)), 0, 4);
      } else {
        pen.textAlign = "center";
        pen.fillText(cut(content.columnName(column)), 0, 0);
      }
      pen.restore();
    }
    pen.fillStyle = color("ink");
    pen.textAlign = "left";
    pen.fillText(content.words[1] + " \u2192", this.left, 14);
    pen.save();
    pen.translate(14, this.top);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "right";
    pen.fillText("\u2190 " + content.words[0], 0, 0);
    pen.restore();
  }
  // A bar for each row and column, each side to its own scale.
  sums(pen, { top, bottom, left, right }) {
    const { content } = this, most = (sums) => sums.reduce((a, b) => Math.max(a, b), 0) || 1, [rows, columns] = [most(content.rowSums), most(content.columnSums)];
    const x = this.left + this.width + 8, y = this.top + this.height + 8, thick = (size) => Math.max(1, size - (size > 5 ? 1 : 0));
    pen.fillStyle = mix(color("low"), color("high"), 0.6);
    for (let row = top; row < bottom; row++) pen.fillRect(x, Math.floor(this.y(row)), content.rowSums[row] / rows * SUMS, thick(this.cell.height));
    for (let column = left; column < right; column++) pen.fillRect(Math.floor(this.x(column)), y, thick(this.cell.width), content.columnSums[column] / columns * SUMS);
    pen.fillStyle = color("faint");
    pen.textAlign = "left";
    pen.fillText(content.sumWords[0], x, this.top - 20);
    pen.fillText("most: " + content.tell(rows), x, this.top - 6);
    pen.textAlign = "right";
    pen.fillText(content.sumWords[1], this.left - 6, y + 10);
    pen.textAlign = "left";
    pen.fillText("most: " + content.tell(columns), this.left + this.width + 8, y + 10);
  }
  scale(pen, x) {
    const tall = 120;
    for (let i = 0; i < tall; i++) {
      pen.fillStyle = this.least === this.greatest ? color("high") : mix(color("high"), color("low"), i / tall);
      pen.fillRect(x, this.top + i, 10, 1.5);
    }
    pen.fillStyle = color("faint");
    pen.textAlign = "left";
    pen.fillText(this.content.tell(this.greatest), x + 15, this.top + 9);
    if (this.least !== this.greatest) pen.fillText(this.content.tell(this.least), x + 15, this.top + tall);
  }
  // The cell at a place of the canvas: of those that share its pixel the greatest, as it is drawn. None outside.
  at(x, y) {
    const { top, bottom, left, right } = this.view || this.whole, across = (x - this.left) / this.cell.width, down = (y - this.top) / this.cell.height;
    const within = { row: down >= 0 && down < bottom - top, column: across >= 0 && across < right - left };
    const place = { row: within.row ? top + Math.floor(down) : null, column: within.column ? left + Math.floor(across) : null };
    if (!within.row || !within.column) return { ...place, side: within.row && x > this.left + this.width && x < this.left + this.width + SUMS + 8 ? "row" : within.column && y > this.top + this.height ? "column" : null };
    let most = -1;
    const first = { ...place };
    for (let row = first.row; row < Math.min(bottom, top + Math.max(Math.floor(down) + 1, down + 1 / this.cell.height)); row++) {
      for (let column = first.column; column < Math.min(right, left + Math.max(Math.floor(across) + 1, across + 1 / this.cell.width)); column++) {
        const value = this.content.values[row * this.content.columns + column];
        if (value > most) [most, place.row, place.column] = [value, row, column];
      }
    }
    return { ...place, side: "cell" };
  }
  listen() {
    const { canvas } = this, place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("mousedown", (event) => {
      const [x, y] = place(event);
      if (event.button || this.at(x, y).side !== "cell") return;
      this.dragged = [x, y, x, y];
      hideTip();
    });
    addEventListener("mousemove", (event) => {
      if (!this.dragged) return;
      const [x, y] = place(event);
      this.dragged.splice(2, 2, Math.min(this.left + this.width, Math.max(this.left, x)), Math.min(this.top + this.height, Math.max(this.top, y)));
      this.draw();
    });
    addEventListener("mouseup", () => {
      if (!this.dragged) return;
      const [x, y, to, down] = this.dragged, { top, left } = this.view || this.whole;
      this.dragged = null;
      if (Math.abs(to - x) < 4 || Math.abs(down - y) < 4) {
        const { row, column } = this.at(x, y);
        this.draw();
        if (this.pick) this.pick(row, column);
        return;
      }
      const rows = [y, down].sort((a, b) => a - b).map((v) => top + (v - this.top) / this.cell.height), columns = [x, to].sort((a, b) => a - b).map((v) => left + (v - this.left) / this.cell.width);
      this.zoomTo({ top: Math.floor(rows[0]), bottom: Math.ceil(rows[1]), left: Math.floor(columns[0]), right: Math.ceil(columns[1]) });
    });
    canvas.addEventListener("dblclick", () => this.zoomTo(null));
    canvas.addEventListener("mousemove", (event) => {
      if (this.dragged) return;
      const { row, column, side } = this.at(...place(event));
      canvas.style.cursor = side === "cell" ? "crosshair" : "default";
      const html = side === "cell" ? this.tip(row, column) : side && this.sumTip ? this.sumTip(side, side === "row" ? row : column) : "";
      if (html) showTip(event, html);
      else hideTip();
    });
    canvas.addEventListener("mouseleave", hideTip);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const [x, y] = place(event);
      this.zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, Math.min(1, Math.max(0, (y - this.top) / this.height)), Math.min(1, Math.max(0, (x - this.left) / this.width)));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const keys = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.zoomTo(null), Escape: () => this.zoomTo(null), ArrowUp: () => this.move(-0.2, 0), ArrowDown: () => this.move(0.2, 0), ArrowLeft: () => this.move(0, -0.2), ArrowRight: () => this.move(0, 0.2) };
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}
