"use strict";
// Layered graph drawing, with edges downwards (Sugiyama, Tagawa and Toda, 1981), as in wengert/inspect/graph_drawing.py:
// layers by longest paths, the order inside a layer by barycentres, places along a layer by least squares.
const ACROSS = 16, DOWN = 30, SWEEPS = 10;

// Place nodes `{width, height}`, which get `x` and `y` of their centres; edges are `[from, to]` with from before to in
// the list of nodes. Return the width and height of the picture, and the points of each edge.
const layered = (nodes, edges) => {
  const parts = nodes.map((node) => ({ node, width: node.width, height: node.height, layer: 0, x: 0, above: [], below: [] }));
  assignLayers(parts, edges);
  const rows = [];
  for (const part of parts) (rows[part.layer] ??= []).push(part);
  const routes = edges.map(([from, to]) => routed(parts[from], parts[to], rows));
  order(rows);
  for (const row of rows) settle(row, row.map(() => 0));
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    for (const row of sweep % 2 ? rows.slice().reverse() : rows) settle(row, row.map(pulled));
  }
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((part) => part.height));
    for (const part of row) part.y = top + height / 2;
    top += height + DOWN;
  }
  const all = rows.flat();
  const left = Math.min(...all.map((part) => part.x - part.width / 2));
  const right = Math.max(...all.map((part) => part.x + part.width / 2));
  for (const part of all) part.x -= left;
  for (const part of parts) [part.node.x, part.node.y] = [part.x, part.y];
  const points = routes.map((route) => {
    const [first, last] = [route[0], route.at(-1)];
    return [[first.x, first.y + first.height / 2], ...route.slice(1, -1).map((bend) => [bend.x, bend.y]), [last.x, last.y - last.height / 2]];
  });
  return { width: right - left, height: top - DOWN, points };
};

const assignLayers = (parts, edges) => {
  const before = parts.map(() => []), after = parts.map(() => []);
  for (const [from, to] of edges) {
    before[to].push(from);
    after[from].push(to);
  }
  parts.forEach((part, n) => { part.layer = Math.max(-1, ...before[n].map((other) => parts[other].layer)) + 1; });
  for (let n = parts.length - 1; n >= 0; n--) { // an input stands above its first use
    if (after[n].length && before[n].length <= after[n].length) parts[n].layer = Math.min(...after[n].map((other) => parts[other].layer)) - 1;
  }
};

const routed = (start, end, rows) => {
  const route = [start];
  for (let layer = start.layer + 1; layer < end.layer; layer++) {
    const bend = { node: null, width: 2, height: 0, layer, x: 0, above: [], below: [] };
    rows[layer].push(bend);
    route.push(bend);
  }
  route.push(end);
  for (let n = 1; n < route.length; n++) {
    route[n - 1].below.push(route[n]);
    route[n].above.push(route[n - 1]);
  }
  return route;
};

const numbered = (row) => row.forEach((part, n) => { part.x = n; });
const order = (rows) => {
  rows.forEach(numbered);
  let best = rows.map((row) => row.slice()), fewest = crossings(rows);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : rows.slice().reverse()) {
      const middles = new Map(row.map((part) => {
        const near = down ? part.above : part.below;
        return [part, near.length ? near.reduce((sum, other) => sum + other.x, 0) / near.length : part.x];
      }));
      row.sort((a, b) => middles.get(a) - middles.get(b));
      numbered(row);
    }
    const count = crossings(rows);
    if (count < fewest) [best, fewest] = [rows.map((row) => row.slice()), count];
  }
  best.forEach((row, n) => { rows[n] = row; });
  rows.forEach(numbered);
};
const crossings = (rows) => {
  let count = 0;
  for (const row of rows) {
    const ends = row.flatMap((part) => part.below.map((lower) => lower.x).sort((a, b) => a - b));
    for (let i = 0; i < ends.length; i++) for (let j = i + 1; j < ends.length; j++) count += ends[i] > ends[j];
  }
  return count;
};

const weight = (part) => (part.node === null ? 4 : part.above.length ? 1 : 0.01);
const pulled = (part) => {
  const near = [...part.above, ...part.below];
  const total = near.reduce((sum, other) => sum + weight(other), 0);
  return near.length ? near.reduce((sum, other) => sum + weight(other) * other.x, 0) / total : part.x;
};
// Isotonic regression of the wanted places, after the room to the left of each part is subtracted.
const settle = (row, wanted) => {
  const room = [0];
  for (let n = 1; n < row.length; n++) room.push(room[n - 1] + (row[n - 1].width + row[n].width) / 2 + ACROSS);
  const pools = [];
  row.forEach((part, n) => {
    let pool = { place: wanted[n] - room[n], weight: weight(part), count: 1 };
    while (pools.length && pools.at(-1).place >= pool.place) {
      const other = pools.pop(), total = other.weight + pool.weight;
      pool = { place: (other.place * other.weight + pool.place * pool.weight) / total, weight: total, count: other.count + pool.count };
    }
    pools.push(pool);
  });
  const settled = pools.flatMap((pool) => new Array(pool.count).fill(pool.place));
  row.forEach((part, n) => { part.x = settled[n] + room[n]; });
};
