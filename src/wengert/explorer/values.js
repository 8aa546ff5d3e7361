"use strict";
// Elements, numbers and pictures of arrays.
const h = (name, attributes, ...content) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...content.flat(Infinity).filter((part) => part !== null && part !== undefined));
  return made;
};
const svg = (name, attributes, ...content) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...content);
  return made;
};

// A number with a few digits; `exact` gives all of them back.
const exact = (x) => String(x).replace("Infinity", "∞").replace("-", "−");
const short = (x, digits = 6) => {
  if (!Number.isFinite(x)) return exact(x);
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e7) return exact(x);
  const text = size < 1e-3 || size >= 1e7 ? x.toExponential(Math.min(digits - 1, 4)) : x.toPrecision(digits);
  return text.replace(/(\.\d*?)0+(e|$)/, "$1$2").replace(/\.(e|$)/, "$1").replace("e+", "e").replace(/-/g, "−");
};

// -- arrays -------------------------------------------------------------------------------------------

const extremes = (value) => {
  if (value.picture) return { low: number(value.picture.low), high: number(value.picture.high), mean: number(value.picture.mean), bad: value.picture.bad };
  let low = Infinity, high = -Infinity, sum = 0, good = 0;
  for (const x of value.data) {
    if (!Number.isFinite(x)) continue;
    low = Math.min(low, x);
    high = Math.max(high, x);
    sum += x;
    good += 1;
  }
  return { low: good ? low : NaN, high: good ? high : NaN, mean: sum / good, bad: value.data.length - good };
};
// The last two axes are a picture; the pictures along the other axes stand side by side, nearly in a square.
const gridOf = (value) => {
  if (value.picture) {
    const [rows, columns] = value.picture.rows;
    return { rows, columns, across: 1, count: 1, data: new Float32Array(bytes(value.picture.picture)) };
  }
  const { shape } = value.kind;
  const columns = shape.at(-1) ?? 1;
  const rows = shape.length > 2 ? shape.at(-2) : shape.length === 2 ? shape[0] : 1;
  const count = Math.max(1, value.data.length / Math.max(1, rows * columns));
  return { rows, columns, count, across: Math.ceil(Math.sqrt(count * rows / columns)) || 1, data: value.data };
};
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim().match(/\w\w/g).map((two) => parseInt(two, 16));
  return { positive: read("--positive"), negative: read("--negative"), zero: read("--zero"), bad: read("--nan") };
};
const heatMap = (value, widest, tallest) => {
  const { rows, columns, count, across, data } = gridOf(value);
  const gap = count > 1 ? 1 : 0, down = Math.ceil(count / across);
  const width = across * (columns + gap) - gap, height = down * (rows + gap) - gap;
  const fitting = Math.min(14, widest / width, tallest / height);
  const scale = fitting > 1 ? Math.floor(fitting) : fitting;
  const canvas = h("canvas", { width: Math.max(1, width), height: Math.max(1, height) });
  canvas.style.width = `${Math.max(4, width * scale)}px`;
  canvas.style.height = `${Math.max(4, height * scale)}px`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const { low, high } = extremes(value);
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const palette = colours();
  for (let i = 0; i < rows * columns * count && i < data.length; i++) {
    const tile = Math.floor(i / (rows * columns)), inside = i % (rows * columns);
    const x = (tile % across) * (columns + gap) + (inside % columns);
    const y = Math.floor(tile / across) * (rows + gap) + Math.floor(inside / columns);
    const part = Math.sqrt(Math.min(1, Math.abs(data[i]) / most));
    const end = Number.isFinite(data[i]) ? (data[i] < 0 ? palette.negative : palette.positive) : palette.bad;
    const share = Number.isFinite(data[i]) ? part : 1;
    for (let c = 0; c < 3; c++) image.data[4 * (y * canvas.width + x) + c] = palette.zero[c] + share * (end[c] - palette.zero[c]);
    image.data[4 * (y * canvas.width + x) + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
};
const shapeText = (kind) => kind.text;
const arrayText = (value) => {
  const { low, high, mean, bad } = extremes(value);
  const strange = bad ? `, ${bad} not finite` : "";
  return `${shapeText(value.kind)} from ${short(low, 4)} to ${short(high, 4)}, mean ${short(mean, 4)}${strange}`;
};
const isScalar = (value) => value !== undefined && value.kind.shape.length === 0;
const hasNaN = (value) => (value?.picture ? value.picture.bad > 0 && Number.isNaN(number(value.picture.mean)) : (value?.data.some((x) => x !== x) ?? false));

// A value as an element: a number, a few numbers in brackets, or a picture.
const shown = (value, { kind = "value", stale = false, widest = 64, tallest = widest, legend = false } = {}) => {
  const note = stale ? "recorded at the original inputs" : null;
  const holder = (title, ...content) => h("span", { class: `${kind}${stale ? " recorded" : ""}`, title: note ? `${title}; ${note}` : title }, ...content);
  if (value === undefined || value === null) return h("span", { class: "quiet", title: "the page cannot compute it" }, "…");
  if (isScalar(value)) {
    const x = value.data[0];
    const text = value.kind.dtype === "bool" ? (x ? "true" : "false") : short(x);
    return holder(exact(x), text);
  }
  if (value.data && value.data.length <= 4 && value.kind.shape.length === 1 && value.data.length) {
    return holder(Array.from(value.data, exact).join(", "), `[${Array.from(value.data, (x) => short(x, 4)).join(", ")}]`);
  }
  const text = arrayText(value);
  const { low, high } = extremes(value);
  const canvas = heatMap(value, widest, tallest);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", text);
  const large = value.picture ? h("span", { class: "quiet" }, " large: recorded, not computed here") : null;
  return holder(text, canvas, legend ? h("small", { class: "quiet" }, ` ${shapeText(value.kind)}, ${short(low, 4)} … ${short(high, 4)}`) : null, legend ? large : null);
};
const plainText = (value) => (value === undefined || value === null ? "not computed" : isScalar(value) ? short(value.data[0]) : arrayText(value));
