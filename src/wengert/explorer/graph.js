"use strict";
// The picture of the graph: operations near the step, or lines or functions of the source as single nodes.
const LETTER = 7.1, DIGIT = 6.4, NODE = 44, NARROWEST = 124, LONGEST = 26, FEW = 3;
const LEVELS = { operations: "operations", lines: "lines", functions: "functions" };

const cut = (text, most = LONGEST) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
// Room for the second line of a node: the shape of its value, and a tangent or an adjoint.
const shapeOf = ({ step, input, output }) => (step?.types[0] ?? input?.type ?? output?.type ?? "").replace(/^[^[]*/, "");
const nodeOf = (id, title, more) => ({ id, title, height: NODE, width: Math.max(NARROWEST, LETTER * title.length + 26, DIGIT * (shapeOf(more).length + 11) + 20), ...more });

// The definition of each value: an input, or a step.
const DEFINED = new Map();
data.inputs.forEach((input, n) => DEFINED.set(input.label, `i${n}`));
data.steps.forEach((step, n) => step.labels.forEach((label) => DEFINED.set(label, `s${n}`)));

// The sums that lead to the adjoint of each value, on the way back: the number of the step, and the sum.
const ADJOINTS = new Map();
data.outputs.forEach((output) => { if (output.adjoint !== null) ADJOINTS.set(output.label, [[data.steps.length, output.adjoint]]); });
for (let n = data.steps.length - 1; n >= 0; n--) {
  for (const [position, , total] of data.steps[n].terms) {
    const label = data.steps[n].operands[position][0];
    if (!ADJOINTS.has(label)) ADJOINTS.set(label, []);
    ADJOINTS.get(label).push([n, total]);
  }
}

const groupKey = (level, place) => {
  if (place === null) return level === "lines" ? "no line" : "no function";
  const [file, line, name] = data.places[place];
  return level === "lines" ? `${file}:${line}` : `${file}:${name}`;
};
const levelOf = () => {
  if (state.level) return state.level;
  if (data.steps.length <= DRAWN) return "operations";
  return new Set(data.steps.map((step) => groupKey("lines", step.place))).size <= DRAWN ? "lines" : "functions";
};
// The nodes and edges of the graph, and how to reach the node of a step.
const operationsGraph = (first, last) => {
  const nodes = [], seen = new Map();
  const inside = data.steps.slice(first, last);
  const need = (id) => {
    if (seen.has(id)) return seen.get(id);
    const n = Number(id.slice(1));
    const isInput = id[0] === "i";
    const label = isInput ? data.inputs[n].label : data.steps[n].labels[0];
    const title = isInput ? `${cut(data.inputs[n].place, 14)} = ${label}` : label;
    seen.set(id, nodes.length);
    nodes.push(nodeOf(id, title, isInput ? { kind: "input", input: data.inputs[n] } : { kind: "outside", step: data.steps[n], n }));
    return seen.get(id);
  };
  const edges = [];
  const uses = new Map();
  // A value of which many operations of the picture make use stands beside each of them.
  const copy = (id) => {
    uses.set(id, (uses.get(id) ?? 0) + 1);
    if (id[0] !== "i" || (count.get(id) ?? 0) <= FEW || uses.get(id) === 1) return need(id);
    const input = data.inputs[Number(id.slice(1))];
    nodes.push({ id: `${id} copy ${nodes.length}`, title: cut(input.place, 12), height: 26, width: LETTER * Math.min(12, input.place.length) + 26, kind: "input", copy: true, input });
    return nodes.length - 1;
  };
  const count = new Map();
  for (const step of inside) for (const id of new Set(step.operands.map(([label]) => DEFINED.get(label)))) count.set(id, (count.get(id) ?? 0) + 1);
  inside.forEach((step) => step.operands.forEach(([label]) => { if (DEFINED.has(label) && !(Number(DEFINED.get(label).slice(1)) >= first && DEFINED.get(label)[0] === "s")) need(DEFINED.get(label)); }));
  inside.forEach((step, k) => {
    const n = first + k, id = `s${n}`;
    const from = step.operands.map(([label], position) => [DEFINED.get(label), position]).filter(([source]) => source);
    const starts = new Map([...new Set(from.map(([source]) => source))].map((source) => [source, copy(source)]));
    const full = `${step.labels[0]} = ${filledIn(data.texts[step.formula], labelsOf(step))}`;
    const name = data.texts[step.primitive];
    seen.set(id, nodes.length);
    nodes.push(nodeOf(id, full.length <= LONGEST ? full : cut(`${step.labels[0]} = ${name}`), { kind: "operation", step, n }));
    for (const [source, position] of from) edges.push([starts.get(source), nodes.length - 1, position]);
  });
  if (!inside.length) data.inputs.forEach((_, n) => need(`i${n}`));
  if (last === data.steps.length) {
    data.outputs.slice(0, 8).forEach((output, n) => {
      const from = DEFINED.get(output.label);
      if (!from || (from[0] === "s" && !seen.has(from))) return;
      nodes.push(nodeOf(`o${n}`, `${cut(output.name, 14)} = ${output.label}`, { kind: "result", output }));
      edges.push([need(from), nodes.length - 1, null]);
    });
  }
  return { nodes, edges, find: (n) => seen.get(`s${n}`) };
};
const foldedGraph = (level) => {
  const nodes = [], index = new Map(), owner = [];
  const edges = new Map();
  data.steps.forEach((step, n) => {
    const key = groupKey(level, step.place);
    if (!index.has(key)) {
      const [file, line, name] = step.place === null ? [null, null, key] : data.places[step.place];
      const text = data.sources[file]?.lines.find(([number]) => number === line)?.[1].trim() ?? key;
      index.set(key, nodes.length);
      nodes.push(nodeOf(key, cut(level === "lines" ? `${line}: ${text}` : `${name}()`, 34), { kind: "group", steps: [] }));
    }
    owner[n] = index.get(key);
    nodes[owner[n]].steps.push(n);
    for (const [label] of step.operands) {
      const from = DEFINED.get(label);
      if (!from || from[0] === "i") continue;
      const start = owner[Number(from.slice(1))];
      if (start !== owner[n]) edges.set(`${start} ${owner[n]}`, [start, owner[n], null]);
    }
  });
  return { nodes, edges: [...edges.values()], find: (n) => owner[n] };
};

let drawn = { key: "" };
const graphNow = () => {
  const level = levelOf();
  const at = moment();
  const n = at.n !== undefined && (at.kind === "forward" || at.kind === "back") ? at.n : at.kind === "inputs" ? 0 : data.steps.length - 1;
  let [first, last] = [0, data.steps.length];
  if (level === "operations" && data.steps.length > DRAWN) {
    first = Math.max(0, Math.min(data.steps.length - DRAWN / 2, n - DRAWN / 4));
    if (drawn.level === level && n >= drawn.first + 4 && n < drawn.last - 4) first = drawn.first;
    first = Math.floor(first);
    last = Math.min(data.steps.length, first + DRAWN / 2);
  }
  const key = `${level} ${first} ${last}`;
  if (drawn.key !== key) {
    const graph = level === "operations" ? operationsGraph(first, last) : foldedGraph(level);
    const down = graph.edges.filter(([from, to]) => from < to);
    const layout = layered(graph.nodes, down);
    drawn = { key, level, first, last, ...graph, down, up: graph.edges.filter(([from, to]) => from > to), layout };
  }
  return { ...drawn, n };
};

const isDone = (node, at, n) => {
  if (node.kind === "input") return true;
  if (at.kind === "inputs") return false;
  if (at.kind !== "forward") return true;
  return node.kind === "result" ? false : node.kind === "group" ? node.steps[0] <= n : node.n <= n;
};
// The derivative that a node shows: a tangent, or an adjoint that the walk back has reached.
const derivativeOf = (node, at, n) => {
  if (state.mode === "forward") {
    const atom = node.kind === "input" ? node.input.tangent : node.kind === "result" ? node.output.tangent : node.step?.tangents[0];
    return isDone(node, at, n) && atom !== null ? ["tangent", atom] : null;
  }
  if (at.kind !== "back" && at.kind !== "seed" && at.kind !== "gradient") return null;
  if (node.kind === "result") return node.output.adjoint === null ? null : ["adjoint", node.output.adjoint];
  const limit = at.kind === "back" ? n : at.kind === "seed" ? data.steps.length : -1;
  const reached = ADJOINTS.get(node.kind === "input" ? node.input.label : node.step?.labels[0])?.filter(([step]) => step >= limit);
  return reached?.length ? ["adjoint", reached.at(-1)[1]] : null;
};
const brief = (atom) => {
  const value = valueOf(atom);
  if (value === undefined) return "…";
  if (!isScalar(value)) return `[${value.kind.shape.join(",")}]`;
  return value.kind.dtype === "bool" ? String(value.data[0] !== 0) : short(value.data[0], 5);
};
// An adjoint or a tangent: a number, or the largest size of its elements.
const briefDerivative = (atom) => {
  const value = valueOf(atom);
  if (value === undefined || isScalar(value)) return brief(atom);
  const { low, high } = extremes(value);
  return `±${short(Math.max(Math.abs(low), Math.abs(high)), 3)}`;
};
const describe = (node) => {
  if (node.kind === "group") return `${node.title}, ${node.steps.length.toLocaleString("en")} operations`;
  const atom = node.kind === "input" ? node.input.value : node.kind === "result" ? node.output.value : node.step.values[0];
  const type = node.kind === "input" ? node.input.type : node.kind === "result" ? node.output.type : node.step.types.join(", ");
  return `${node.title}: ${type}, ${plainText(valueOf(atom))}`;
};
// What stands before and after a node, for those who do not see the edges.
const neighbours = (k, edges, nodes) => {
  const name = (node) => (node.kind === "group" ? node.title : node.kind === "input" ? node.input.place : node.kind === "result" ? node.output.name : node.step.labels[0]);
  const names = (ends) => [...new Set(ends.map((end) => name(nodes[end])))].slice(0, 6).join(", ");
  const before = names(edges.filter(([, to]) => to === k).map(([from]) => from));
  const after = names(edges.filter(([from]) => from === k).map(([, to]) => to));
  return `${before ? `; from ${before}` : ""}${after ? `; to ${after}` : ""}`;
};
const pathOf = (points) => {
  let text = `M${points[0].join(",")}`;
  for (let n = 1; n < points.length; n++) {
    const [[a, b], [c, d]] = [points[n - 1], points[n]];
    text += `C${a},${(b + d) / 2} ${c},${(b + d) / 2} ${c},${d}`;
  }
  return text;
};
const drawNode = (node, k, at, n, current) => {
  const atom = node.kind === "input" ? node.input.value : node.kind === "result" ? node.output.value : node.step?.values[0];
  const done = isDone(node, at, n);
  const bad = node.kind === "operation" && (nan.value === node.n || (nan.value === null && nan.adjoint === node.n));
  const name = ["node", node.kind, done ? "done" : "waiting", k === current ? (at.kind === "back" ? "current back" : "current") : "", bad ? "nan" : ""].join(" ");
  const derivative = node.kind === "group" ? null : derivativeOf(node, at, n);
  const title = svg("text", { x: node.x, y: node.y + (node.copy ? 4 : -4), class: "title" }, node.title);
  const second = node.copy ? "" : svg("text", { x: node.x, y: node.y + 14, class: "numbers" });
  if (!node.copy && node.kind === "group") second.append(`${node.steps.length.toLocaleString("en")} operation${node.steps.length === 1 ? "" : "s"}`);
  else if (done && !node.copy) second.append(svg("tspan", { class: "value" }, brief(atom)));
  if (derivative && !node.copy) second.append(svg("tspan", { class: "quiet" }, "  ·  "), svg("tspan", { class: derivative[0] }, briefDerivative(derivative[1])));
  const group = svg("g", { class: name, role: "button", "data-key": node.id, "aria-label": `${describe(node)}${neighbours(k, drawn.edges, drawn.nodes)}`, "aria-current": k === current ? "step" : null },
    svg("rect", { x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height, rx: node.kind === "operation" || node.kind === "group" ? 7 : node.height / 2 }),
    title, second);
  group.addEventListener("click", () => {
    if (node.kind === "operation" || node.kind === "outside") return jump(state.mode, at.kind === "back" && node.step.terms.length ? "back" : "forward", node.n)();
    if (node.kind === "group") return jump(state.mode, "forward", node.steps.find((step) => step > n) ?? node.steps[0])();
    return go(node.kind === "input" ? 0 : data.steps.length + 1);
  });
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    group.dispatchEvent(new MouseEvent("click"));
  });
  for (const event of ["pointerenter", "focus"]) group.addEventListener(event, () => hint(describe(node), group));
  for (const event of ["pointerleave", "blur"]) group.addEventListener(event, () => hint(null));
  return group;
};
const hint = (text, over) => {
  const box = $("hint");
  box.hidden = text === null;
  if (text === null) return;
  box.textContent = text;
  const place = over.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(innerWidth - box.offsetWidth - 8, place.left + place.width / 2 - box.offsetWidth / 2))}px`;
  box.style.top = `${place.bottom + 6 + box.offsetHeight > innerHeight ? place.top - 6 - box.offsetHeight : place.bottom + 6}px`;
};
// The node to which an arrow key leads: above and below along the edges, to the nearest; beside it in the same layer.
const alongEdges = (key, button) => {
  if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(key)) return undefined;
  const { nodes, edges } = drawn;
  const k = nodes.findIndex((node) => node.id === button.dataset.key), start = nodes[k];
  const isBeside = (node) => node.y === start.y && (key === "ArrowLeft" ? node.x < start.x : node.x > start.x);
  const ends = {
    ArrowUp: () => edges.filter(([from, to]) => to === k && from < k).map(([from]) => nodes[from]),
    ArrowDown: () => edges.filter(([from, to]) => from === k && to > k).map(([, to]) => nodes[to]),
  }[key] ?? (() => nodes.filter(isBeside));
  const nearest = ends().sort((a, b) => Math.abs(a.x - start.x) - Math.abs(b.x - start.x))[0];
  return nearest ? buttonsOf($("graph")).find((other) => other.dataset.key === nearest.id) : null;
};
const levelChoice = () => {
  const now = levelOf();
  const group = h("div", { class: "levels", role: "radiogroup", "aria-label": "Nodes of the graph" });
  for (const level of Object.keys(LEVELS)) {
    const radio = h("input", { type: "radio", name: "level", value: level, checked: level === now });
    radio.addEventListener("change", () => {
      state.level = level;
      renderGraph();
    });
    group.append(h("label", {}, radio, LEVELS[level]));
  }
  return group;
};
const renderGraph = () => {
  const panel = $("graph");
  panel.hidden = state.mode === "adjoint" || state.mode === "nests";
  if (panel.hidden) return;
  hint(null);
  const at = moment();
  const { nodes, edges, down, up, layout, find, n, level, first, last } = graphNow();
  const current = at.kind === "forward" || at.kind === "back" ? find(n) : at.kind === "inputs" ? -1 : -2;
  const margin = 14, beside = up.length ? 24 : 0;
  const picture = svg("svg", { viewBox: `${-margin} ${-margin} ${layout.width + 2 * margin + beside} ${layout.height + 2 * margin}`, width: layout.width + 2 * margin + beside, height: layout.height + 2 * margin, role: "group", "aria-roledescription": "graph", "aria-label": "The steps of the trace", "aria-describedby": "graph-keys" });
  const labels = [];
  down.forEach(([from, to, position], k) => {
    const isCurrent = to === current;
    picture.append(svg("path", { class: `edge${isCurrent ? " current" : ""}${at.kind === "back" && isCurrent ? " back" : ""}`, d: pathOf(layout.points[k]) }));
    const partial = isCurrent && position !== null ? nodes[to].step.partials[position] : undefined;
    if (partial !== undefined && isScalar(valueOf(partial))) {
      const [[a, b], [c, d]] = [layout.points[k].at(-2), layout.points[k].at(-1)];
      labels.push([(a + 2 * c) / 3, (b + 2 * d) / 3, brief(partial)]);
    }
  });
  for (const [from, to] of up) {
    const [a, b] = [nodes[from], nodes[to]];
    const right = Math.max(a.x + a.width / 2, b.x + b.width / 2) + 10;
    picture.append(svg("path", { class: "edge up", d: `M${a.x + a.width / 2},${a.y}C${right + 14},${a.y} ${right + 14},${b.y} ${b.x + b.width / 2},${b.y}` }));
  }
  nodes.forEach((node, k) => picture.append(drawNode(node, k, at, n, current)));
  for (const [x, y, text] of labels) picture.append(svg("rect", { class: "plate", x: x - 3.4 * text.length - 3, y: y - 8, width: 6.8 * text.length + 6, height: 16, rx: 8 }), svg("text", { class: "partial", x, y: y + 4 }, text));
  if (!panel.firstChild) panel.append(...[data.steps.length > 12 ? levelChoice() : null, h("div", { class: "view" }), h("p", { class: "quiet" })].filter(Boolean));
  const view = panel.querySelector(".view");
  redraw(panel, () => view.replaceChildren(picture));
  const isPart = last - first < data.steps.length && level === "operations";
  view.nextSibling.textContent = isPart ? `Operations ${first + 1} to ${last} of ${data.steps.length.toLocaleString("en")}.` : "";
  const focus = nodes[current >= 0 ? current : current === -1 ? 0 : nodes.length - 1];
  if (focus) {
    const scale = picture.getBoundingClientRect().height / (layout.height + 2 * margin) || 1;
    const y = (focus.y + margin) * scale, x = (focus.x + margin) * scale;
    if (y < view.scrollTop + 60 || y > view.scrollTop + view.clientHeight - 60) view.scrollTop = y - view.clientHeight / 2;
    if (x < view.scrollLeft + 60 || x > view.scrollLeft + view.clientWidth - 60) view.scrollLeft = x - view.clientWidth / 2;
  }
};
