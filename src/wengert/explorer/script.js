"use strict";
// The page: inputs, the steps of four programs, the source, the graph, and the trace.
const data = JSON.parse(document.getElementById("data").textContent);
const evaluation = new Evaluation(data.program);
const $ = (id) => document.getElementById(id);
const WINDOW = 60, DRAWN = 70, PARTS = "⟨";

const values = (atoms) => atoms.map((atom) => (atom === null ? undefined : evaluation.read(atom)));
const valueOf = (atom) => (atom === null || atom === undefined ? undefined : evaluation.read(atom));
const show = (atom, options) => shown(valueOf(atom), { ...options, stale: atom !== null && atom !== undefined && evaluation.isStale(atom) });
const isChanged = () => data.inputs.some((input) => evaluation.values[evaluation.program.inputs[input.input]] !== evaluation.recorded[input.input]);
const PRIME = "′", DOT = "̇";
const dotted = (label) => label.replace(/^(.)/u, `$1${DOT}`);
const isVariable = (label) => /^[vc]/.test(label);

// -- formulas ------------------------------------------------------------------------------------------

// A formula with its operands filled in; negative numbers stand in brackets.
const filledIn = (text, operands, result = "") =>
  text.replace(/-/g, "−").replaceAll("⟨y⟩", result).replace(/⟨(\d+)⟩/g, (_, n, at) => {
    const operand = operands[n];
    const alone = at === 0 || /[(,] ?$/.test(text.slice(0, at));
    return /^[-−]/.test(operand) && !alone ? `(${operand})` : operand;
  });
const labelsOf = (step) => step.operands.map(([label]) => label.replace(/^-/, "−"));
const numbersOf = (step) => step.operands.map(([label, atom]) => {
  const value = valueOf(atom);
  return value === undefined ? label : isScalar(value) ? short(value.data[0]) : label;
});
const equationOf = (step) => filledIn(data.texts[step.formula], labelsOf(step));
const numericOf = (step) => {
  const scalars = step.operands.some(([label, atom]) => isVariable(label) && isScalar(valueOf(atom)));
  return scalars ? filledIn(data.texts[step.formula], numbersOf(step)) : "";
};
const termOf = (step, [position, , , first, text]) => {
  const result = step.labels.length === 1 ? step.labels[0] : step.labels[0];
  const operand = step.operands[position][0];
  const generic = `${result}${PRIME} ∂${result}/∂${operand}`;
  const known = data.texts[text];
  const usable = known && !(step.chooses && isChanged());
  const detail = usable ? filledIn(known, labelsOf(step), result) : "";
  return { name: `${operand}${PRIME}`, generic: first ? generic : `${operand}${PRIME} + ${generic}`, detail: detail && !first ? `${operand}${PRIME} + ${detail}` : detail };
};

// -- moments: what each mode steps through -----------------------------------------------------------------

const steps = data.steps;
const backward = steps.map((step, n) => n).filter((n) => steps[n].terms.length).reverse();
const MOMENTS = {
  forward: [{ kind: "inputs" }, ...steps.map((_, n) => ({ kind: "forward", n })), { kind: "result" }],
  reverse: [{ kind: "inputs" }, ...steps.map((_, n) => ({ kind: "forward", n })), { kind: "seed" }, ...backward.map((n) => ({ kind: "back", n })), { kind: "gradient" }],
  adjoint: data.adjoint.lines.map((_, n) => ({ kind: "statement", n })),
  nests: (data.compiled.nests ?? [{}]).map((_, n) => ({ kind: "nest", n })),
};
// A program without statements still has a moment to stand at.
for (const list of Object.values(MOMENTS)) if (!list.length) list.push({ kind: "nothing" });
const state = { mode: "forward", at: { forward: 0, reverse: 0, adjoint: 0, nests: 0 }, level: null };
const moment = () => MOMENTS[state.mode][state.at[state.mode]];
const stepOf = ({ kind, n }) => (n !== undefined && (kind === "forward" || kind === "back") ? steps[n] : null);

// The line of a step or a statement: the number of its place.
const placeOf = (at) => {
  if (at.kind === "statement") return data.adjoint.lines[at.n].place;
  if (at.kind === "nest") return data.compiled.nests?.[at.n]?.place ?? null;
  return stepOf(at)?.place ?? null;
};

// -- the first step with NaN -------------------------------------------------------------------------------

const findNaN = () => {
  const isBad = (atom) => hasNaN(valueOf(atom));
  const value = steps.findIndex((step) => step.values.some(isBad));
  const adjoint = backward.find((n) => steps[n].terms.some(([, term]) => isBad(term)));
  return { value: value < 0 ? null : value, adjoint: adjoint ?? null };
};
let nan = findNaN();

// -- inputs ------------------------------------------------------------------------------------------------

const FIELDS = 4;
const setInput = (input, place, x) => {
  const before = evaluation.values[evaluation.program.inputs[input.input]];
  const made = { kind: before.kind, data: before.data.slice() };
  made.data[place] = x;
  const recorded = evaluation.recorded[input.input];
  const isOriginal = recorded.data && recorded.data.every((x, n) => Object.is(x, made.data[n]));
  evaluation.set(input.input, isOriginal ? recorded : made);
  update();
};
const parsed = (text) => {
  const plain = text.trim().replace("−", "-").replace(/^([+-]?)(inf|∞)$/i, "$1Infinity");
  return plain === "" || (Number.isNaN(Number(plain)) && plain.toLowerCase() !== "nan") ? null : Number(plain);
};
const field = (input, place, label) => {
  const box = h("input", { type: "text", inputmode: "decimal", size: 7, autocomplete: "off", spellcheck: "false", "aria-label": label });
  const current = () => evaluation.values[evaluation.program.inputs[input.input]].data[place];
  const fill = () => { if (document.activeElement !== box) box.value = String(current()); };
  box.addEventListener("input", () => {
    const x = parsed(box.value);
    box.setAttribute("aria-invalid", String(x === null));
    if (x !== null) setInput(input, place, x);
  });
  box.addEventListener("keydown", (event) => {
    const turn = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!turn) return;
    event.preventDefault();
    const x = current(), size = 10 ** Math.floor(Math.log10(Math.abs(x) || 1)) / 10;
    box.value = String(Number((x + turn * size).toPrecision(12)));
    setInput(input, place, Number(box.value));
  });
  box.addEventListener("blur", fill);
  fill();
  box.fill = fill;
  return box;
};
const indexText = (shape, place) => stridesOf(shape).map((stride, axis) => Math.floor(place / stride) % shape[axis]).join(", ");
const inputBox = (input) => {
  const value = valueOf(input.value);
  const name = h("span", { class: "name", title: input.type }, input.place);
  if (!value.data) return h("div", { class: "input" }, name, h("span", { class: "held" }, shown(value, { widest: 72, tallest: 44 })), h("small", { class: "quiet" }, "large: fixed"));
  if (isScalar(value)) return h("label", { class: "input" }, name, h("span", { class: "equals" }, "="), field(input, 0, input.place));
  const { size, shape } = value.kind;
  if (size && size <= FIELDS && shape.at(-1) === size) {
    const columns = shape.at(-1);
    const fields = h("span", { class: "cells", style: `--columns: ${columns}` });
    for (let place = 0; place < size; place++) fields.append(field(input, place, `${input.place}[${indexText(shape, place)}]`));
    return h("div", { class: "input" }, name, h("span", { class: "equals" }, "="), fields);
  }
  let place = 0;
  const picture = h("span", { class: "held" });
  const index = h("input", { type: "text", style: `width: ${1.6 + 1.4 * shape.length}rem`, "aria-label": `index of an element of ${input.place}`, value: indexText(shape, 0), autocomplete: "off" });
  const holder = h("span", {});
  const choose = () => {
    const given = index.value.split(",").map((part) => Number(part.trim()));
    const fits = given.length === shape.length && given.every((position, axis) => Number.isInteger(position) && position >= 0 && position < shape[axis]);
    index.setAttribute("aria-invalid", String(!fits));
    if (fits) place = given.reduce((sum, position, axis) => sum + position * stridesOf(shape)[axis], 0);
    holder.replaceChildren(field(input, place, `element of ${input.place}`));
  };
  index.addEventListener("input", choose);
  choose();
  const box = h("div", { class: "input array" }, name, picture, h("span", { class: "quiet" }, "["), index, h("span", { class: "quiet" }, "] ="), holder);
  box.redraw = () => picture.replaceChildren(shown(valueOf(input.value), { widest: 72, tallest: 44 }));
  box.redraw();
  return box;
};
const boxes = [];
const directions = () => {
  const choices = [];
  for (const input of data.inputs) {
    if (input.direction === null) continue;
    const { size, shape } = evaluation.program.kinds[evaluation.program.inputs[input.direction]];
    choices.push({ text: shape.length ? `${input.place}, all elements` : input.place, input, place: -1 });
    for (let place = 0; shape.length && place < Math.min(size, 16); place++) choices.push({ text: `${input.place}[${indexText(shape, place)}]`, input, place });
  }
  return choices;
};
const buildInputs = () => {
  const form = $("inputs");
  boxes.push(...data.inputs.map(inputBox));
  const choices = directions();
  const select = h("select", { id: "direction", "aria-label": "Direction of the tangent" }, choices.map(({ text }, n) => h("option", { value: n }, text)));
  select.addEventListener("change", () => {
    const { input: chosen, place } = choices[Number(select.value)];
    for (const input of data.inputs) {
      if (input.direction === null) continue;
      const kind = evaluation.program.kinds[evaluation.program.inputs[input.direction]];
      const made = filled(kind, input === chosen && place < 0 ? 1 : 0);
      if (input === chosen && place >= 0) made.data[place] = 1;
      evaluation.set(input.direction, made);
    }
    update();
  });
  const controls = [
    h("label", { class: "input direction" }, h("span", { class: "quiet" }, "tangent along"), select),
    h("button", { type: "button", id: "reset", onclick: reset }, "Reset"),
    h("output", { id: "results", class: "results" }),
  ];
  form.append(h("div", { class: "fields" }, boxes), h("div", { class: "fields" }, controls));
  form.addEventListener("submit", (event) => event.preventDefault());
};
const reset = () => {
  evaluation.recorded.forEach((value, n) => evaluation.set(n, value));
  $("direction").value = "0";
  update();
};

// -- the step ----------------------------------------------------------------------------------------------

const code = (place) => {
  if (place === null || place === undefined) return null;
  const [file, line] = data.places[place];
  const source = data.sources[file];
  const text = source?.lines.find(([number]) => number === line)?.[1].trim() ?? "";
  return h("p", { class: "line" }, h("span", { class: "quiet" }, `${source?.file ?? ""}:${line}`), " ", h("code", {}, text));
};
const row = (name, ...content) => h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, ...content));
const big = { widest: 220, tallest: 180, legend: true }, small = { widest: 150, tallest: 110, legend: true };

const facts = {
  nothing: () => [h("h2", {}, "Nothing to compute"), h("p", { class: "quiet" }, "The derivative is known without a computation.")],
  inputs: () => [
    h("h2", {}, "The inputs"),
    h("dl", {}, data.inputs.map((input) => row(`${input.label} = ${input.place}`, show(input.value, big), state.mode === "forward" && input.tangent !== null ? h("span", { class: "with" }, ` ${dotted(input.label)} = `, show(input.tangent, { ...big, kind: "tangent" })) : null))),
    data.constants.length ? h("h2", {}, data.constants.length > 1 ? "Constants" : "A constant") : null,
    data.constants.length ? h("dl", {}, data.constants.map(({ label, type, value, elements }) => row(label, value === null ? shown(tensor(kindOf(type), elements), small) : show(value, small)))) : null,
  ],
  result: () => [
    h("h2", {}, data.outputs.length > 1 ? "The results" : "The result"),
    h("dl", {}, data.outputs.map((output) => [row(`${output.name} = ${output.label}`, show(output.value, big)), output.tangent === null ? null : row(dotted(output.name), show(output.tangent, { ...big, kind: "tangent" }))])),
  ],
  seed: () => [
    h("h2", {}, "The way back begins"),
    h("p", { class: "quiet" }, "The adjoint of a value is the derivative of the result with respect to it. That of the result itself is 1."),
    h("dl", {}, data.outputs.filter(({ adjoint }) => adjoint !== null).map(({ label, name }) => row(`${label}${PRIME} = ${name}${PRIME}`, "1"))),
  ],
  gradient: () => [
    h("h2", {}, "The derivatives"),
    h("dl", {}, data.inputs.filter(({ direction }) => direction !== null).map(({ place, label, adjoint }) => row(`${place}${PRIME} = ${label}${PRIME}`, adjoint === null ? "0" : show(adjoint, { ...big, kind: "adjoint" })))),
  ],
  forward: ({ n }) => {
    const step = steps[n];
    const numeric = numericOf(step), equation = equationOf(step);
    const parts = [
      h("h2", { class: "formula" }, `${step.labels.join(", ")} = ${equation}`),
      numeric && numeric !== equation ? h("p", { class: "formula numeric" }, `= ${numeric}`) : null,
      h("dl", {}, step.labels.map((label, k) => [
        row(label, show(step.values[k], big)),
        state.mode === "forward" && step.tangents[k] !== null ? row(dotted(label), show(step.tangents[k], { ...(isScalar(valueOf(step.values[k])) ? big : small), kind: "tangent" })) : null,
      ])),
    ];
    if (state.mode === "forward" && step.tangents.some((tangent) => tangent !== null)) parts.push(partialsTable(step));
    return [...parts, typeLine(step), code(step.place)];
  },
  back: ({ n }) => {
    const step = steps[n];
    return [
      h("h2", { class: "formula" }, `back through ${step.labels.join(", ")} = ${equationOf(step)}`),
      h("dl", {}, step.labels.map((label, k) => (step.adjoints[k] === null ? null : row(`${label}${PRIME}`, show(step.adjoints[k], { ...big, kind: "adjoint" }))))),
      h("ol", { class: "terms" }, step.terms.map((term) => {
        const { name, generic, detail } = termOf(step, term);
        const partial = step.partials[term[0]];
        return h("li", {},
          h("p", { class: "formula" }, `${name} = ${generic}`),
          detail ? h("p", { class: "formula numeric" }, `= ${detail}`) : null,
          h("p", { class: "sum" }, "= ", show(term[2], { ...small, kind: "adjoint" })),
          partial === undefined ? null : h("p", { class: "quiet formula" }, `∂${step.labels[0]}/∂${step.operands[term[0]][0]} = `, show(partial, { kind: "partial" })),
        );
      })),
      code(step.place),
    ];
  },
  statement: ({ n }) => {
    const line = data.adjoint.lines[n];
    return [
      h("h2", {}, line.adjoint ? "A statement of the adjoint" : line.values.length ? "A statement of the primal" : "Preparation"),
      h("pre", {}, line.text),
      h("dl", {}, line.values.map((atom) => row("value", show(atom, { ...big, kind: line.adjoint ? "adjoint" : "value" })))),
      code(line.place),
    ];
  },
  nest: ({ n }) => {
    if (!data.compiled.nests) return [h("h2", {}, "Not compiled"), h("p", {}, data.compiled.problem)];
    const nest = data.compiled.nests[n];
    if (!nest) return [h("h2", {}, "No nests")];
    return [
      h("h2", {}, `Nest ${n + 1}`),
      h("p", {}, `It fuses ${nest.fused.join(", ")}.`),
      h("dl", {}, row("operations", nest.operations.toLocaleString("en")), row("bytes moved", nest.bytes.toLocaleString("en")), nest.how ? row("layout", nest.how) : null),
      code(placeOf({ kind: "nest", n })),
    ];
  },
};
const typeLine = (step) => h("p", { class: "quiet type" }, `${data.texts[step.primitive]}: `, step.operands.map(([, atom]) => valueOf(atom)?.kind.text).filter(Boolean).join(", "), " → ", step.types.join(", "));
const partialsTable = (step) => {
  const entries = Object.entries(step.partials);
  if (!entries.length) return h("p", { class: "quiet" }, "Its tangent is the operation's own, along the tangents of its operands.");
  const result = step.labels[0];
  const sum = entries.map(([n]) => `∂${result}/∂${step.operands[n][0]} ${dotted(step.operands[n][0])}`).join(" + ");
  return h("div", {}, h("p", { class: "formula" }, `${dotted(result)} = ${sum}`), h("dl", {}, entries.map(([n, atom]) => row(`∂${result}/∂${step.operands[n][0]}`, show(atom, { kind: "partial", widest: 120 })))));
};
const renderStep = () => {
  const at = moment();
  $("step").replaceChildren(...facts[at.kind](at).flat().filter(Boolean));
};

// Scroll a box, and nothing else, until an element in it can be seen.
const reveal = (box, element, above = 0) => {
  const [outside, inside] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inside.top < outside.top + above) box.scrollTop -= outside.top + above - inside.top;
  if (inside.bottom > outside.bottom) box.scrollTop += inside.bottom - outside.bottom;
};

// -- the source --------------------------------------------------------------------------------------------

const totalCost = Object.values(data.costs).reduce((a, b) => a + b, 0);
const renderSource = () => {
  const current = placeOf(moment());
  const [file, line] = current === null || current === undefined ? [null, null] : data.places[current];
  const bad = nan.value === null ? null : steps[nan.value].place, badAdjoint = nan.adjoint === null ? null : steps[nan.adjoint].place;
  const panel = $("source");
  const draw = () => panel.replaceChildren(...data.sources.map((source, n) => {
    let before = null;
    const rows = source.lines.flatMap(([number, text]) => {
      const place = data.places.findIndex(([f, l]) => f === n && l === number);
      const cost = place < 0 ? 0 : data.costs[place] ?? 0;
      const part = totalCost ? cost / totalCost : 0, costs = cost ? `${cost.toLocaleString("en")} operations of the compiled derivative, ${Math.round(100 * part)}%` : null;
      const marks = [place >= 0 && place === bad ? "NaN begins here" : null, place >= 0 && place === badAdjoint && bad === null ? "NaN of an adjoint begins here" : null].filter(Boolean);
      const isCurrent = file === n && line === number;
      const gap = before !== null && number !== before + 1 ? [h("div", { class: "gap" }, "⋯")] : [];
      before = number;
      const content = [
        h("span", { class: "number" }, String(number)),
        h("span", { class: "cost", style: `--part: ${part}`, title: costs }),
        h("code", {}, text || " "),
        marks.length ? h("b", { class: "bad", title: marks[0] }, "NaN") : null,
      ];
      const name = `row${isCurrent ? " current" : ""}${marks.length ? " nan" : ""}`;
      return [...gap, place < 0 ? h("div", { class: name }, ...content) : h("button", { type: "button", class: name, "data-key": `${n}:${number}`, "aria-current": isCurrent ? "true" : null, "aria-label": [`Line ${number}: ${text.trim()}`, ...marks, costs].filter(Boolean).join("; "), onclick: () => toPlace(place) }, ...content)];
    });
    return h("div", { class: "file" }, h("h3", {}, source.file, totalCost ? h("small", { class: "quiet" }, "  bars: cost of each line") : null), h("div", { class: "rows" }, rows));
  }));
  redraw(panel, draw);
  const now = panel.querySelector(".current");
  if (now) reveal(now.closest(".rows"), now);
};
const toPlace = (place) => {
  const list = MOMENTS[state.mode];
  const start = state.at[state.mode];
  for (let turn = 1; turn <= list.length; turn++) {
    const at = (start + turn) % list.length;
    if (placeOf(list[at]) === place) return go(at);
  }
  return null;
};

// -- the trace ---------------------------------------------------------------------------------------------

const around = (count, center) => {
  if (count <= 2 * WINDOW) return [0, count];
  const first = Math.max(0, Math.min(count - 2 * WINDOW, center - WINDOW));
  return [first, first + 2 * WINDOW];
};
const jump = (mode, kind, n) => () => go(MOMENTS[mode].findIndex((at) => at.kind === kind && (n === undefined || at.n === n)));
const cell = (text, mode, kind, n, current, ...more) => h("td", { class: current ? "current" : null }, h("button", { type: "button", onclick: jump(mode, kind, n), "data-key": `${kind} ${n}`, "aria-current": current ? "step" : null, "aria-label": kind === "back" ? `Back through ${steps[n].labels.join(", ")}` : null }, text), ...more);
const traceRows = {
  forward: () => {
    const at = moment();
    const [first, last] = around(steps.length, at.n ?? 0);
    const body = steps.slice(first, last).map((step, k) => {
      const n = first + k, current = at.kind === "forward" && at.n === n;
      const numeric = numericOf(step);
      return h("tr", { class: current ? "current" : null },
        cell(`${step.labels.join(", ")} = ${equationOf(step)}`, "forward", "forward", n, current),
        h("td", { class: "numeric" }, numeric && numeric !== equationOf(step) ? `= ${numeric}` : ""),
        h("td", {}, "= ", step.values.map((atom) => show(atom))),
        h("td", {}, step.tangents.map((atom, i) => (atom === null ? null : h("span", {}, `${dotted(step.labels[i])} = `, show(atom, { kind: "tangent" }))))));
    });
    return { heads: ["Forward primal trace ↓", "", "value", "tangent"], body, hidden: steps.length - (last - first) };
  },
  reverse: () => {
    const at = moment();
    const [first, last] = around(steps.length, at.n ?? (at.kind === "seed" ? steps.length : 0));
    const body = steps.slice(first, last).map((step, k) => {
      const n = first + k, isForward = at.kind === "forward" && at.n === n, isBack = at.kind === "back" && at.n === n;
      const numeric = numericOf(step);
      const terms = step.terms.map((term) => {
        const { name, generic, detail } = termOf(step, term);
        return h("span", { class: "term" }, `${name} = ${detail || generic} = `, show(term[2], { kind: "adjoint" }));
      });
      return h("tr", { class: isForward || isBack ? "current" : null },
        cell(`${step.labels.join(", ")} = ${equationOf(step)}`, "reverse", "forward", n, isForward),
        h("td", { class: "numeric" }, numeric && numeric !== equationOf(step) ? `= ${numeric}` : ""),
        h("td", {}, "= ", step.values.map((atom) => show(atom))),
        terms.length ? cell("↑", "reverse", "back", n, isBack, h("span", { class: "terms" }, terms)) : h("td", {}));
    });
    return { heads: ["Forward primal trace ↓", "", "value", "Reverse adjoint trace ↑"], body, hidden: steps.length - (last - first) };
  },
  adjoint: () => {
    const at = moment();
    const [first, last] = around(data.adjoint.lines.length, at.n);
    const body = data.adjoint.lines.slice(first, last).map((line, k) => {
      const n = first + k, current = at.n === n;
      return h("tr", { class: `code${current ? " current" : ""}${line.adjoint ? " adjoints" : ""}` }, cell(line.text, "adjoint", "statement", n, current), h("td", {}, line.values.map((atom) => show(atom, { kind: line.adjoint ? "adjoint" : "value", widest: 64, tallest: 26 }))));
    });
    const end = h("tr", { class: "code" }, h("td", {}, h("span", { class: "pad" }, `return ${data.adjoint.result}`)), h("td", {}));
    return { heads: [data.adjoint.head, "value"], body: [...body, end], hidden: data.adjoint.lines.length - (last - first) };
  },
  nests: () => {
    if (!data.compiled.nests) return { heads: [], body: [], hidden: 0 };
    const body = data.compiled.nests.flatMap((nest, n) => {
      const current = moment().n === n, indented = nest.text.replace(/^/gm, "  ".repeat(nest.depth));
      const around = nest.heads.map((head) => h("tr", { class: "code" }, h("td", {}), h("td", {}), h("td", {}, h("span", { class: "pad" }, head))));
      const own = h("tr", { class: `code${current ? " current" : ""}` }, h("td", { class: "count" }, nest.operations.toLocaleString("en")), h("td", { class: "quiet" }, nest.location), cell(indented, "nests", "nest", n, current));
      return [...around, own];
    });
    return { heads: ["operations", "line", "value and gradient, as loops over vectors"], body, hidden: 0 };
  },
};
const renderTrace = () => {
  const { heads, body, hidden } = traceRows[state.mode]();
  const isCode = state.mode === "adjoint" || state.mode === "nests";
  const head = h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col", class: isCode ? "plain" : null }, text))));
  const note = hidden > 0 ? [h("p", { class: "quiet" }, `${hidden.toLocaleString("en")} more steps before and after these.`)] : [];
  const panel = $("trace");
  if (!panel.firstChild) panel.append(h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Trace, scrollable" }), h("div"));
  const [holder, below] = panel.children;
  redraw(panel, () => holder.replaceChildren(h("table", { class: `of-${state.mode}` }, head, h("tbody", {}, body))));
  below.replaceChildren(...note);
  const now = holder.querySelector("tr.current");
  if (now) reveal(holder, now, head.offsetHeight);
};

// -- everything --------------------------------------------------------------------------------------------

const sentence = () => {
  const at = moment(), step = stepOf(at);
  if (at.kind === "forward") return `${step.labels.join(", ")} = ${equationOf(step)} = ${step.values.map((atom) => plainText(valueOf(atom))).join(", ")}${state.mode === "forward" && step.tangents[0] !== null ? `, tangent ${plainText(valueOf(step.tangents[0]))}` : ""}`;
  if (at.kind === "back") return `back through ${step.labels.join(", ")}: ${step.terms.map((term) => `${termOf(step, term).name} = ${plainText(valueOf(term[2]))}`).join("; ")}`;
  return $("step").textContent;
};
const renderPlace = () => {
  const count = MOMENTS[state.mode].length, at = state.at[state.mode];
  $("slider").max = String(count - 1);
  $("slider").value = String(at);
  $("slider").setAttribute("aria-valuetext", `${at + 1} of ${count}`);
  $("place").textContent = `${(at + 1).toLocaleString("en")} / ${count.toLocaleString("en")}`;
  $("back").disabled = at === 0;
  $("on").disabled = at === count - 1;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isChosen = tab.dataset.mode === state.mode;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) $("stage").setAttribute("aria-labelledby", tab.id);
  }
  document.body.dataset.mode = state.mode;
};
const renderResults = () => {
  $("results").replaceChildren(...data.outputs.slice(0, 3).flatMap(({ name, value }, n) => [n ? ", " : "", h("span", { class: "name" }, name), " = ", show(value, { widest: 72, tallest: 44 })]));
  $("reset").disabled = !isChanged() && $("direction").value === "0";
};
let noticed = "";
const renderNotices = () => {
  const notes = [];
  const moved = data.decisions.find((decision) => {
    const value = valueOf(decision.value);
    return value?.data && value.data[0] !== number(decision.was);
  });
  if (moved) notes.push(`At these inputs Python takes another path: ${moved.label} was ${moved.was === 1 || moved.was === true ? "true" : moved.was === 0 || moved.was === false ? "false" : moved.was}. The numbers follow the recorded path; run wengert explore at these inputs for the new one.`);
  const reasons = Object.keys(data.recorded);
  if (reasons.length && isChanged()) notes.push(`Some numbers are those recorded at the original inputs: ${reasons.join("; ")}.`);
  for (const problem of new Set(evaluation.problems)) notes.push(`At these inputs: ${problem}.`);
  let toNaN = null;
  if (nan.value !== null) {
    notes.push(`NaN begins at ${steps[nan.value].labels[0]} = ${equationOf(steps[nan.value])}. `);
    toNaN = () => (choose("forward"), jump("forward", "forward", nan.value)());
  } else if (nan.adjoint !== null) {
    notes.push(`NaN of the adjoints begins at ${steps[nan.adjoint].labels[0]} = ${equationOf(steps[nan.adjoint])}, on the way back. `);
    toNaN = () => (choose("reverse"), jump("reverse", "back", nan.adjoint)());
  }
  const text = notes.join("\n");
  if (text === noticed) return; // so that a screen reader does not repeat it
  noticed = text;
  const paragraphs = notes.map((note) => h("p", {}, note));
  if (toNaN) paragraphs.at(-1).append(h("button", { type: "button", onclick: toNaN }, "Go to this step"));
  $("notices").replaceChildren(...paragraphs);
};
const render = () => {
  renderPlace();
  renderStep();
  renderSource();
  renderGraph();
  renderTrace();
};
const update = () => {
  evaluation.run();
  nan = findNaN();
  for (const box of document.querySelectorAll("#inputs input")) box.fill?.();
  boxes.forEach((box) => box.redraw?.());
  renderResults();
  renderNotices();
  render();
};
const go = (at) => {
  state.at[state.mode] = Math.max(0, Math.min(MOMENTS[state.mode].length - 1, at));
  render();
  $("said").textContent = sentence();
};
const choose = (mode) => {
  state.mode = mode;
  render();
};

const tabs = [...document.querySelectorAll("[role=tab]")];
tabs.forEach((tab, n) => {
  tab.addEventListener("click", () => choose(tab.dataset.mode));
  tab.addEventListener("keydown", (event) => {
    const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!turn) return;
    event.preventDefault();
    event.stopPropagation();
    const next = tabs[(n + turn + tabs.length) % tabs.length];
    next.focus();
    choose(next.dataset.mode);
  });
});
$("slider").addEventListener("input", () => go(Number($("slider").value)));
$("back").addEventListener("click", () => go(state.at[state.mode] - 1));
$("on").addEventListener("click", () => go(state.at[state.mode] + 1));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, select, textarea")) return;
  const to = { ArrowRight: state.at[state.mode] + 1, ArrowLeft: state.at[state.mode] - 1, Home: 0, End: Infinity }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  go(to);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => update());

const start = () => {
  const files = data.sources.length ? ` of ${data.sources.map((source) => source.file).join(", ")}` : "";
  $("summary").textContent = `${steps.length.toLocaleString("en")} operation${steps.length === 1 ? "" : "s"}${files}`;
  buildInputs();
  for (const id of ["source", "trace"]) followArrows($(id), upAndDown($(id)));
  followArrows($("graph"), alongEdges);
  update();
};
