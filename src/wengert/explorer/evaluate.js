"use strict";
// The evaluator: each primitive of a Wengert list on arrays, in float64, or rounded to float32 where its type is that.
// A primitive is `(operands, params, kinds) -> value`, or a list of values where it has several results; `kinds` are
// the types of its results. A value is `{kind, data}` with the elements in row-major order.
const OPERATIONS = {};
const define = (name, run) => { OPERATIONS[name] = run; };

class Refused extends Error {}

const kindOf = (text) => {
  const [, dtype, extents] = text.match(/^(\w+)\[(.*)\]$/);
  const shape = extents === "" ? [] : extents.split(",").map(Number);
  return { text, dtype, shape, size: shape.reduce((a, b) => a * b, 1) };
};
const store = (dtype, size) => (dtype === "f32" ? new Float32Array(size) : new Float64Array(size));
const zeros = (kind) => ({ kind, data: store(kind.dtype, kind.size) });
const filled = (kind, value) => {
  const made = zeros(kind);
  made.data.fill(value);
  return made;
};
const number = (entry) => (typeof entry === "string" ? Number(entry.replace("inf", "Infinity")) : entry);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const tensor = (kind, entry) => {
  if (typeof entry !== "object") return filled(kind, number(entry));
  if ("fill" in entry) return filled(kind, number(entry.fill));
  if ("picture" in entry) return { kind, picture: entry };
  return { kind, data: kind.dtype === "f32" ? new Float32Array(bytes(entry.data)) : new Float64Array(bytes(entry.data)) };
};

// -- index spaces ---------------------------------------------------------------------------------------

const stridesOf = (shape) => {
  const strides = new Array(shape.length);
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
};
// The place in memory of each element of an index space, in row-major order.
const places = (shape, strides, start = 0) => {
  const size = shape.reduce((a, b) => a * b, 1);
  const inMemory = new Int32Array(size);
  const index = new Array(shape.length).fill(0);
  let place = start;
  for (let i = 0; i < size; i++) {
    inMemory[i] = place;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place += strides[axis];
      if (++index[axis] < shape[axis]) break;
      place -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return inMemory;
};
const broadcastStrides = (shape, to) => {
  const own = stridesOf(shape);
  return to.map((_, axis) => {
    const mine = axis - (to.length - shape.length);
    return mine < 0 || shape[mine] === 1 ? 0 : own[mine];
  });
};
const broadcastPlaces = (x, shape) => places(shape, broadcastStrides(x.kind.shape, shape));
const taken = (x, kind, from) => {
  const made = zeros(kind);
  for (let i = 0; i < from.length; i++) made.data[i] = x.data[from[i]];
  return made;
};

// -- elementwise ----------------------------------------------------------------------------------------

const BITS = { i8: 8, i16: 16, i32: 32, u8: 8, u16: 16, u32: 32 };
const fitted = (made) => {
  const { dtype } = made.kind;
  if (dtype[0] !== "i" && dtype[0] !== "u") return made;
  const bits = BITS[dtype];
  for (let i = 0; i < made.data.length; i++) {
    const value = made.data[i];
    if (bits === undefined) {
      if (!Number.isSafeInteger(value)) throw new Refused("an integer is too large for the page");
      made.data[i] = value + 0;
    } else {
      const range = 2 ** bits;
      const wrapped = value - Math.floor(value / range) * range;
      made.data[i] = dtype[0] === "i" && wrapped >= range / 2 ? wrapped - range : wrapped;
    }
  }
  return made;
};
const elementwise = (run) => (operands, params, [kind]) => {
  const made = zeros(kind);
  const { data } = made;
  const read = operands.map((x) => x.data);
  const same = operands.map((x) => x.data.length === kind.size);
  const plain = operands.every((x, n) => x.data.length === 1 || (same[n] && x.kind.shape.length <= kind.shape.length));
  if (plain) {
    const [a, b, c] = read;
    const [p, q, r] = same;
    if (read.length === 1) for (let i = 0; i < data.length; i++) data[i] = run(a[p ? i : 0], params);
    else if (read.length === 2) for (let i = 0; i < data.length; i++) data[i] = run(a[p ? i : 0], b[q ? i : 0], params);
    else for (let i = 0; i < data.length; i++) data[i] = run(a[p ? i : 0], b[q ? i : 0], c[r ? i : 0], params);
    return fitted(made);
  }
  const from = operands.map((x) => broadcastPlaces(x, kind.shape));
  for (let i = 0; i < data.length; i++) data[i] = run(...read.map((x, n) => x[from[n][i]]), params);
  return fitted(made);
};
const isNegative = (x) => x < 0 || Object.is(x, -0);
const signOf = (x) => (isNegative(x) ? -1 : 1);

define("add", elementwise((x, y) => x + y));
define("subtract", elementwise((x, y) => x - y));
define("multiply", elementwise((x, y) => x * y));
define("divide", elementwise((x, y) => x / y));
define("negative", elementwise((x) => -x));
define("positive", elementwise((x) => x));
define("reciprocal", elementwise((x) => 1 / x));
define("square", elementwise((x) => x * x));
define("absolute", elementwise(Math.abs));
define("fabs", elementwise(Math.abs));
define("sign", elementwise(Math.sign));
define("copysign", elementwise((x, y) => Math.abs(x) * signOf(y)));
define("multiply_no_nan", elementwise((x, y) => {
  const product = x * y;
  return product !== product && (x === 0 || y === 0) ? 0 * signOf(x) * signOf(y) : product;
}));
define("maximum", elementwise((x, y) => Math.max(x, y)));
define("minimum", elementwise((x, y) => Math.min(x, y)));
define("fmax", elementwise((x, y) => (x !== x ? y : y !== y ? x : Math.max(x, y))));
define("fmin", elementwise((x, y) => (x !== x ? y : y !== y ? x : Math.min(x, y))));
define("extremum_share", elementwise((out, mine, other) => (mine !== out ? 0 : other === out ? 0.5 : 1)));
define("floor", elementwise(Math.floor));
define("ceil", elementwise(Math.ceil));
define("trunc", elementwise(Math.trunc));
define("rint", elementwise((x) => {
  const low = Math.floor(x), part = x - low;
  const near = part < 0.5 ? low : part > 0.5 ? low + 1 : part !== part ? x : 2 * Math.floor(low / 2) === low ? low : low + 1;
  return near === 0 ? 0 * signOf(x) : near;
}));
const remainder = (x, y) => {
  const rest = x % y;
  if (rest !== 0) return (y < 0) !== (rest < 0) ? rest + y : rest;
  return rest !== rest ? rest : 0 * signOf(y);
};
define("remainder", elementwise(remainder));
define("fmod", elementwise((x, y) => x % y));
define("floor_divide", elementwise((x, y) => {
  if (y === 0) return x / y;
  const rest = x % y;
  const quotient = (x - rest) / y - Number(rest !== 0 && (y < 0) !== (rest < 0));
  if (quotient === 0) return 0 * signOf(x / y);
  const low = Math.floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}));
define("heaviside", elementwise((x, y) => (x !== x ? x : x === 0 ? y : x < 0 ? 0 : 1)));
const power = (x, y) => (x === 1 ? 1 : x === -1 && Math.abs(y) === Infinity ? 1 : Math.pow(x, y));
define("power", elementwise(power));
define("integer_power", elementwise((x, { exponent }) => (exponent === 2 ? x * x : exponent === -1 ? 1 / x : power(x, exponent))));
define("hypot", elementwise((x, y) => Math.hypot(x, y)));
define("ldexp", elementwise((x, n) => {
  const half = Math.trunc(Math.max(-2200, Math.min(2200, n)) / 2);
  const rest = Math.max(-2200, Math.min(2200, n)) - half;
  return x * 2 ** Math.trunc(half / 2) * 2 ** (half - Math.trunc(half / 2)) * 2 ** Math.trunc(rest / 2) * 2 ** (rest - Math.trunc(rest / 2));
}));

define("equal", elementwise((x, y) => Number(x === y)));
define("not_equal", elementwise((x, y) => Number(x !== y)));
define("less", elementwise((x, y) => Number(x < y)));
define("less_equal", elementwise((x, y) => Number(x <= y)));
define("greater", elementwise((x, y) => Number(x > y)));
define("greater_equal", elementwise((x, y) => Number(x >= y)));
define("logical_and", elementwise((x, y) => Number(x !== 0 && y !== 0)));
define("logical_or", elementwise((x, y) => Number(x !== 0 || y !== 0)));
define("logical_xor", elementwise((x, y) => Number((x !== 0) !== (y !== 0))));
define("logical_not", elementwise((x) => Number(x === 0)));
define("isnan", elementwise((x) => Number(x !== x)));
define("isinf", elementwise((x) => Number(Math.abs(x) === Infinity)));
define("isfinite", elementwise((x) => Number(Number.isFinite(x))));
define("signbit", elementwise((x) => Number(isNegative(x))));
define("where", elementwise((condition, x, y) => (condition !== 0 ? x : y)));
define("stop_gradient", elementwise((x) => x));
const converted = {
  b: elementwise((x) => Number(x !== 0)), // also NaN is true
  f: elementwise((x) => x),
  i: elementwise(Math.trunc),
  u: elementwise(Math.trunc),
};
define("cast", (operands, params, kinds) => converted[kinds[0].dtype[0]](operands, params, kinds));

define("exp", elementwise(Math.exp));
define("exp2", elementwise((x) => 2 ** x));
define("expm1", elementwise(Math.expm1));
define("log", elementwise(Math.log));
define("log2", elementwise(Math.log2));
define("log10", elementwise(Math.log10));
define("log1p", elementwise(Math.log1p));
define("sqrt", elementwise(Math.sqrt));
define("cbrt", elementwise(Math.cbrt));
define("sin", elementwise(Math.sin));
define("cos", elementwise(Math.cos));
define("tan", elementwise(Math.tan));
define("arcsin", elementwise(Math.asin));
define("arccos", elementwise(Math.acos));
define("arctan", elementwise(Math.atan));
define("arctan2", elementwise((x, y) => Math.atan2(x, y)));
define("sinh", elementwise(Math.sinh));
define("cosh", elementwise(Math.cosh));
define("tanh", elementwise(Math.tanh));
define("arcsinh", elementwise(Math.asinh));
define("arccosh", elementwise(Math.acosh));
define("arctanh", elementwise(Math.atanh));
const logaddexp = (x, y) => {
  const most = Math.max(x, y), distance = Math.abs(x - y);
  return x === y ? most + Math.LN2 : most + Math.log1p(Math.exp(-distance));
};
define("logaddexp", elementwise(logaddexp));
define("logaddexp2", elementwise((x, y) => (x === y ? x + 1 : Math.max(x, y) + Math.log1p(2 ** -Math.abs(x - y)) / Math.LN2)));

// -- reductions and running sums --------------------------------------------------------------------------

const reduced = (start, combine) => ([x], { axes }, [kind]) => {
  const shape = x.kind.shape;
  const inside = stridesOf(kind.shape);
  const strides = [];
  for (let axis = 0, kept = 0; axis < shape.length; axis++) strides.push(axes.includes(axis) ? 0 : inside[kept++]);
  const to = places(shape, strides);
  const total = new Float64Array(kind.size).fill(start);
  for (let i = 0; i < to.length; i++) total[to[i]] = combine(total[to[i]], x.data[i]);
  const made = zeros(kind);
  made.data.set(total);
  return fitted(made);
};
define("reduce_sum", reduced(0, (a, b) => a + b));
define("reduce_prod", reduced(1, (a, b) => a * b));
define("reduce_max", reduced(-Infinity, Math.max));
define("reduce_min", reduced(Infinity, Math.min));
define("reduce_any", reduced(0, (a, b) => Number(a !== 0 || b !== 0)));
define("reduce_all", reduced(1, (a, b) => Number(a !== 0 && b !== 0)));

// The start and the step of each line along an axis.
const lines = (shape, axis) => {
  const strides = stridesOf(shape);
  const starts = places(shape.map((extent, other) => (other === axis ? Math.min(extent, 1) : extent)), strides);
  return { starts, step: strides[axis], extent: shape[axis] };
};
const running = (start, combine) => ([x], { axis, reverse }, [kind]) => {
  const made = zeros(kind);
  const { starts, step, extent } = lines(kind.shape, axis);
  for (const first of starts) {
    let total = start;
    for (let turn = 0; turn < extent; turn++) {
      const place = first + step * (reverse ? extent - 1 - turn : turn);
      made.data[place] = total = combine(total, x.data[place]);
    }
  }
  return fitted(made);
};
define("cumsum", running(0, (a, b) => a + b));
define("cumprod", running(1, (a, b) => a * b));

const position = (better) => ([x], { axis }, [kind]) => {
  const made = zeros(kind);
  const { starts, step, extent } = lines(x.kind.shape, axis);
  starts.forEach((first, line) => {
    let best = 0;
    for (let turn = 1; turn < extent; turn++) {
      const mine = x.data[first + step * turn], other = x.data[first + step * best];
      if (other === other && (mine !== mine || better(mine, other))) best = turn;
    }
    made.data[line] = best;
  });
  return made;
};
define("argmax", position((mine, other) => mine > other));
define("argmin", position((mine, other) => mine < other));

const ordered = (write) => ([x], { axis }, [kind]) => {
  const made = zeros(kind);
  const { starts, step, extent } = lines(kind.shape, axis);
  const turns = Array.from({ length: extent }, (_, turn) => turn);
  for (const first of starts) {
    const at = (turn) => x.data[first + step * turn];
    const order = turns.slice().sort((a, b) => {
      const [p, q] = [at(a), at(b)];
      return p !== p || q !== q ? Number(p !== p) - Number(q !== q) : p - q || a - b;
    });
    order.forEach((from, turn) => { made.data[first + step * turn] = write(from, at(from)); });
  }
  return made;
};
define("sort", ordered((from, value) => value));
define("argsort", ordered((from) => from));

// -- shapes ---------------------------------------------------------------------------------------------

const reshaped = ([x], params, [kind]) => ({ kind, data: x.data });
define("reshape", reshaped);
define("transpose", ([x], { permutation }, [kind]) => {
  const strides = stridesOf(x.kind.shape);
  return taken(x, kind, places(kind.shape, permutation.map((axis) => strides[axis])));
});
define("broadcast_to", ([x], params, [kind]) => taken(x, kind, broadcastPlaces(x, kind.shape)));
define("concatenate", (operands, { axis }, [kind]) => {
  const made = zeros(kind);
  const strides = stridesOf(kind.shape);
  let start = 0;
  for (const x of operands) {
    places(x.kind.shape, strides, start).forEach((place, i) => { made.data[place] = x.data[i]; });
    start += strides[axis] * x.kind.shape[axis];
  }
  return made;
});
define("side_by_side", ([x, y], params, [kind]) => {
  const made = zeros(kind);
  for (let i = 0; i < x.data.length; i++) [made.data[2 * i], made.data[2 * i + 1]] = [x.data[i], y.data[i]];
  return made;
});
// The places of the elements that a basic index selects: integers, or start, extent and step.
const selected = (shape, index) => {
  const strides = stridesOf(shape);
  const extents = [], steps = [];
  let start = 0;
  index.forEach((entry, axis) => {
    if (typeof entry === "number") start += entry * strides[axis];
    else {
      start += entry[0] * strides[axis];
      extents.push(entry[1]);
      steps.push(entry[2] * strides[axis]);
    }
  });
  return places(extents, steps, start);
};
const copied = (x, kind) => {
  const made = zeros(kind);
  made.data.set(x.data);
  return made;
};
const written = (made, to, y) => {
  for (let i = 0; i < to.length; i++) made.data[to[i]] = y.data[i];
  return made;
};
define("slice", ([x], { index }, [kind]) => taken(x, kind, selected(x.kind.shape, index)));
define("embed", ([x], { shape, index }, [kind]) => written(zeros(kind), selected(shape, index), x));
define("place", ([x, y], { index }, [kind]) => written(copied(x, kind), selected(x.kind.shape, index), y));
const required = ([x, holds], { operation, requirement }, [kind]) => {
  if (holds.data.some((truth) => truth === 0)) throw new Refused(`${operation}: ${requirement}`);
  return taken(x, kind, broadcastPlaces(x, kind.shape));
};
define("require", required);
define("require_end", required);
define("require_argument", required);
define("check_bounds", ([x], { count, operation, requirement }, [kind]) => {
  if (x.data.some((index) => index < 0 || index >= count)) throw new Refused(`${operation}: ${requirement}`);
  return copied(x, kind);
});

// -- indexing by arrays -----------------------------------------------------------------------------------

// The place of each indexed element in an array of the given shape.
const indexed = (shape, indices) => {
  const rank = Math.max(...indices.map((index) => index.kind.shape.length));
  const lead = Array.from({ length: rank }, (_, axis) => {
    const extents = indices.map((index) => index.kind.shape[axis - rank + index.kind.shape.length] ?? 1);
    return extents.find((extent) => extent !== 1) ?? 1;
  });
  const from = indices.map((index) => broadcastPlaces(index, lead));
  const strides = stridesOf(shape);
  const rest = shape.slice(indices.length).reduce((a, b) => a * b, 1);
  const count = lead.reduce((a, b) => a * b, 1);
  const inMemory = new Int32Array(count * rest);
  for (let i = 0; i < count; i++) {
    let start = 0;
    indices.forEach((index, axis) => {
      const value = index.data[from[axis][i]];
      const at = value < 0 ? value + shape[axis] : value;
      if (!(at >= 0 && at < shape[axis])) throw new Refused(`index ${value} is out of bounds for axis ${axis}`);
      start += at * strides[axis];
    });
    for (let j = 0; j < rest; j++) inMemory[i * rest + j] = start + j;
  }
  return inMemory;
};
const added = (made, to, y) => {
  for (let i = 0; i < to.length; i++) made.data[to[i]] += y.data[i];
  return fitted(made);
};
define("gather", ([x, ...indices], params, [kind]) => taken(x, kind, indexed(x.kind.shape, indices)));
define("scatter_add", ([y, ...indices], { shape }, [kind]) => added(zeros(kind), indexed(shape, indices), y));
define("scatter", ([x, y, ...indices], params, [kind]) => written(copied(x, kind), indexed(kind.shape, indices), y));
define("add_at", ([x, y, ...indices], params, [kind]) => added(copied(x, kind), indexed(kind.shape, indices), y));
define("last_writer", (indices, { shape }, [kind]) => {
  const made = filled(kind, -1);
  indexed(shape, indices).forEach((place, i) => { made.data[place] = i; });
  return made;
});

// -- sums of products --------------------------------------------------------------------------------------

define("contract", (operands, { extents, accesses, out, shape }, [kind]) => {
  const made = new Float64Array(kind.size);
  const linear = (access, own) => {
    const strides = stridesOf(own);
    const steps = new Array(extents.length).fill(0);
    let start = 0;
    access.forEach(([offset, terms], axis) => {
      start += offset * strides[axis];
      for (const [dimension, coefficient] of terms) steps[dimension] += coefficient * strides[axis];
    });
    return { start, steps };
  };
  const maps = [...operands.map((x, n) => linear(accesses[n], x.kind.shape)), linear(out, shape)];
  const read = operands.map((x) => x.data);
  const isTruth = kind.dtype === "bool";
  const at = maps.map((map) => map.start);
  const last = maps.length - 1, inner = extents.length - 1;
  const walk = (dimension) => {
    const count = extents[dimension];
    const back = at.slice();
    if (dimension === inner && read.length === 2 && !isTruth) {
      const [a, b] = read;
      const [p, q, r] = maps.map((map) => map.steps[dimension]);
      let [i, j, k] = at;
      for (let turn = 0; turn < count; turn++, i += p, j += q, k += r) made[k] += a[i] * b[j];
      return;
    }
    for (let turn = 0; turn < count; turn++) {
      if (dimension === inner) point();
      else walk(dimension + 1);
      for (let n = 0; n <= last; n++) at[n] += maps[n].steps[dimension];
    }
    for (let n = 0; n <= last; n++) at[n] = back[n];
  };
  const point = () => {
    let product = 1;
    for (let n = 0; n < last; n++) product *= read[n][at[n]];
    if (isTruth) made[at[last]] = Number(made[at[last]] !== 0 || product !== 0);
    else made[at[last]] += product;
  };
  if (inner < 0) point();
  else walk(0);
  const result = zeros(kind);
  result.data.set(made);
  return fitted(result);
});

// -- linear algebra ------------------------------------------------------------------------------------------

// The number of stacked matrices, and a copy of the one with a number.
const matrices = (x, lead) => {
  const [rows, columns] = x.kind.shape.slice(-2);
  const own = x.kind.shape.slice(0, -2);
  const starts = places(lead, broadcastStrides(own, lead));
  const at = (number) => Float64Array.from(x.data.subarray(starts[number] * rows * columns, (starts[number] + 1) * rows * columns));
  return { rows, columns, count: starts.length, at };
};
// The factors P A = L U in place, with partial pivoting; the swaps act on the right-hand sides at once.
const eliminated = (a, rows, b, columns) => {
  let sign = 1;
  for (let k = 0; k < rows; k++) {
    let pivot = k;
    for (let i = k + 1; i < rows; i++) if (Math.abs(a[i * rows + k]) > Math.abs(a[pivot * rows + k])) pivot = i;
    if (pivot !== k) {
      sign = -sign;
      for (let j = 0; j < rows; j++) [a[k * rows + j], a[pivot * rows + j]] = [a[pivot * rows + j], a[k * rows + j]];
      for (let j = 0; j < columns; j++) [b[k * columns + j], b[pivot * columns + j]] = [b[pivot * columns + j], b[k * columns + j]];
    }
    for (let i = k + 1; i < rows; i++) {
      const factor = a[i * rows + k] / a[k * rows + k] || 0;
      for (let j = k + 1; j < rows; j++) a[i * rows + j] -= factor * a[k * rows + j];
      for (let j = 0; j < columns; j++) b[i * columns + j] -= factor * b[k * columns + j];
    }
  }
  return sign;
};
const substituted = (a, rows, b, columns, lower, unit) => {
  for (let turn = 0; turn < rows; turn++) {
    const i = lower ? turn : rows - 1 - turn;
    for (let j = 0; j < columns; j++) {
      let rest = b[i * columns + j];
      for (let k = lower ? 0 : i + 1; k < (lower ? i : rows); k++) rest -= a[i * rows + k] * b[k * columns + j];
      b[i * columns + j] = unit ? rest : rest / a[i * rows + i];
    }
  }
};
const solutions = (solve) => ([a, b], params, [kind]) => {
  const made = zeros(kind);
  const lead = kind.shape.slice(0, -2);
  const left = matrices(a, lead), right = matrices(b, lead);
  for (let n = 0; n < left.count; n++) {
    const x = right.at(n);
    solve(left.at(n), left.rows, x, right.columns, params);
    made.data.set(x, n * x.length);
  }
  return made;
};
const general = (a, rows, b, columns) => {
  eliminated(a, rows, b, columns);
  for (let i = 0; i < rows; i++) if (a[i * rows + i] === 0) throw new Refused("the matrix is singular");
  substituted(a, rows, b, columns, false, false);
};
define("solve", solutions(general));
define("solve_triangular", solutions((a, rows, b, columns, { lower, unit }) => substituted(a, rows, b, columns, lower, unit)));
define("inverse", ([a], params, kinds) => {
  const unit = zeros(kinds[0]);
  const rows = unit.kind.shape.at(-1);
  for (let i = 0; i < unit.data.length; i++) unit.data[i] = Number(Math.floor((i % (rows * rows)) / rows) === i % rows);
  return OPERATIONS.solve([a, unit], params, kinds);
});
const ofPivots = (run) => ([a], params, [kind]) => {
  const made = zeros(kind);
  const stack = matrices(a, kind.shape);
  for (let n = 0; n < stack.count; n++) {
    const factors = stack.at(n);
    const sign = eliminated(factors, stack.rows, [], 0);
    made.data[n] = run(Array.from({ length: stack.rows }, (_, i) => factors[i * stack.rows + i]), sign);
  }
  return made;
};
define("determinant", ofPivots((pivots, sign) => pivots.reduce((a, b) => a * b, sign)));
define("log_determinant", ofPivots((pivots) => pivots.reduce((sum, pivot) => sum + Math.log(Math.abs(pivot)), 0)));
define("determinant_sign", ofPivots((pivots, sign) => pivots.reduce((a, b) => a * Math.sign(b), sign)));
define("cholesky", ([a], params, [kind]) => {
  const made = zeros(kind);
  const stack = matrices(a, kind.shape.slice(0, -2)), { rows } = stack;
  for (let n = 0; n < stack.count; n++) {
    const matrix = stack.at(n), factor = new Float64Array(rows * rows);
    for (let j = 0; j < rows; j++) {
      for (let i = j; i < rows; i++) {
        let rest = matrix[i * rows + j];
        for (let k = 0; k < j; k++) rest -= factor[i * rows + k] * factor[j * rows + k];
        if (i === j && !(rest > 0)) throw new Refused("the matrix is not positive definite");
        factor[i * rows + j] = i === j ? Math.sqrt(rest) : rest / factor[j * rows + j];
      }
    }
    made.data.set(factor, n * rows * rows);
  }
  return made;
});

// -- operations that hold programs ---------------------------------------------------------------------------

const sliced = (x, turn, kind) => ({ kind, data: x.data.subarray(turn * kind.size, (turn + 1) * kind.size) });
define("checkpoint", (operands, { program: { program } }) => called(program, operands));
define("cond", ([predicate, ...operands], { on_true: yes, on_false: no }) =>
  called(predicate.data[0] !== 0 ? yes.program : no.program, operands));
define("scan", (operands, { body: { program }, constants, carries, length, reverse }, kinds) => {
  const fixed = operands.slice(0, constants);
  let carry = operands.slice(constants, constants + carries);
  const columns = operands.slice(constants + carries);
  const stacked = kinds.slice(carries).map(zeros);
  for (let turn = 0; turn < length; turn++) {
    const at = reverse ? length - 1 - turn : turn;
    const slices = columns.map((x, n) => sliced(x, at, program.kinds[program.inputs[constants + carries + n]]));
    const results = called(program, [...fixed, ...carry, ...slices]);
    carry = results.slice(0, carries);
    results.slice(carries).forEach((x, n) => stacked[n].data.set(x.data, at * x.data.length));
  }
  return [...carry, ...stacked];
});
define("while", (operands, { condition, body, tested, fixed, most }) => {
  const first = operands.slice(0, tested), second = operands.slice(tested, tested + fixed);
  let carry = operands.slice(tested + fixed);
  for (let turn = 0; ; turn++) {
    const [going] = called(condition.program, [...first, ...carry]);
    if (going.data[0] === 0) return carry;
    if (turn >= (most ?? 1e6)) throw new Refused("the loop takes too many turns");
    carry = called(body.program, [...second, ...carry]);
  }
});

// -- programs -------------------------------------------------------------------------------------------------

// Decode a program in place: its types, literals, held values, and the programs among its parameters.
const decoded = (program) => {
  const kinds = program.types.map(kindOf);
  program.kinds = program.kinds.map((kind) => kinds[kind]);
  program.literals = program.literals.map(([kind, value]) => tensor(kinds[kind], value));
  program.held = program.held.map(([variable, entry]) => [variable, tensor(program.kinds[variable], entry)]);
  for (const params of program.params) {
    for (const value of Object.values(params)) if (value !== null && typeof value === "object" && "program" in value) decoded(value.program);
  }
  return program;
};
const started = (program) => {
  const values = new Array(program.kinds.length);
  for (const [variable, value] of program.held) values[variable] = value;
  return values;
};
const called = (program, operands) => {
  const values = started(program);
  const read = (atom) => (atom < 0 ? program.literals[-1 - atom] : values[atom]);
  program.inputs.forEach((variable, n) => { values[variable] = operands[n]; });
  for (const equation of program.equations) carriedOut(program, equation, values, read);
  return program.outputs.map(read);
};
const carriedOut = (program, [primitive, operands, results, params], values, read) => {
  const kinds = results.map((variable) => program.kinds[variable]);
  const result = OPERATIONS[program.primitives[primitive]](operands.map(read), program.params[params], kinds);
  if (Array.isArray(result)) result.forEach((value, n) => { values[results[n]] = value; });
  else values[results[0]] = result;
};

// A program with inputs that change. A value that depends on a change, and that the page cannot compute, is stale: it
// is held as it was recorded, or missing.
class Evaluation {
  constructor(program) {
    this.program = decoded(program);
    this.values = started(program);
    this.recorded = program.inputs.map((variable) => this.values[variable]);
    this.stale = new Uint8Array(program.kinds.length);
    this.problems = [];
    this.run();
  }

  read(atom) {
    return atom < 0 ? this.program.literals[-1 - atom] : this.values[atom];
  }

  isStale(atom) {
    return atom >= 0 && this.stale[atom] === 1;
  }

  // Set an input, by its number.
  set(number, value) {
    this.values[this.program.inputs[number]] = value;
  }

  run() {
    const { program, values } = this;
    const read = (atom) => this.read(atom);
    const changed = new Uint8Array(program.kinds.length);
    program.inputs.forEach((variable, n) => { changed[variable] = Number(values[variable] !== this.recorded[n]); });
    this.stale.fill(0);
    this.problems = [];
    for (const equation of program.equations) {
      const [primitive, operands, results] = equation;
      const moved = operands.some((atom) => atom >= 0 && changed[atom]);
      let isStale = operands.some((atom) => this.isStale(atom));
      if (primitive === null) isStale ||= moved;
      else if (!isStale) {
        try {
          carriedOut(program, equation, values, read);
        } catch (problem) {
          if (!(problem instanceof Refused)) throw problem;
          this.problems.push(problem.message);
          isStale = true;
        }
      }
      for (const variable of results) [this.stale[variable], changed[variable]] = [Number(isStale), Number(moved)];
    }
  }
}
if (typeof module !== "undefined") module.exports = { OPERATIONS, Evaluation, called, decoded, kindOf, tensor };
