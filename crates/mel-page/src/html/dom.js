// What all parts of the page share: its data, elements, colours, canvases and the tooltip.

export const data = JSON.parse(document.getElementById("data").textContent);
// The rows of a table, which is sent as columns.
export const rowsOfTable = (columns) => {
  const names = Object.keys(columns);
  return names.length ? columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]]))) : [];
};
export const $ = (selector, within = document) => within.querySelector(selector);
export const escape = (text) => String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");
// A colour of the style sheet, which has others where it is dark.
const colors = new Map();
export function color(name) {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colors.get(name);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => colors.clear());

export const tip = $("#tip");
export function showTip(event, html) {
  tip.innerHTML = html;
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), space = 14;
  let x = event.clientX + space, y = event.clientY + space;
  if (x + box.width > innerWidth - 4) x = Math.max(4, event.clientX - space - box.width);
  if (y + box.height > innerHeight - 4) y = Math.max(4, event.clientY - space - box.height);
  tip.style.left = x + "px";
  tip.style.top = y + "px";
}
export const hideTip = () => { tip.hidden = true; };
export const rowsOf = (pairs) => "<table>" + pairs.map(([k, v]) => `<tr><td>${escape(k)}</td><td>${escape(v)}</td></tr>`).join("") + "</table>";

// Whatever has data-tip tells it.
document.addEventListener("mousemove", (event) => {
  const marked = event.target.closest && event.target.closest("[data-tip]");
  if (marked) showTip(event, escape(marked.dataset.tip).replace(/\n/g, "<br>"));
  else if (!event.target.closest || !event.target.closest("canvas")) hideTip();
});

// A canvas of a width and height in the page's pixels, ready to be drawn upon.
export function sharpCanvas(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  return pen;
}

// A colour between two.
export function mix(a, b, share) {
  const [from, to] = [rgb(a), rgb(b)];
  return "rgb(" + from.map((part, i) => Math.round(part + (to[i] - part) * share)).join(",") + ")";
}
export const rgb = (text) => text[0] === "#" ? [0, 1, 2].map((i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16)) : text.match(/\d+/g).map(Number);
export const redraws = [];
export const LOG_QUEUES = (what) => `This run's log does not have ${what}: run the program with <code>mel run --trace</code>.`;
export const note = (section, html) => section.insertAdjacentHTML("beforeend", `<p class="note">${html}</p>`);
