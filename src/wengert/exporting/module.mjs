// Made by Wengert __VERSION__. Use: const __NAME__ = await load("__NAME__.wasm"); __NAME__({__EXAMPLE__})

const FUNCTIONS = __FACTS__;

// Returns the bytes of a module: from bytes, a response, a file of Node.js or the address of a page or worker.
async function bytesOf(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof Response !== "undefined" && source instanceof Response) return source.arrayBuffer();
  const address = String(source);
  if (typeof process !== "undefined" && process.versions?.node && !/^(https?|data|blob):/.test(address)) {
    const files = await import("node:fs/promises");
    return files.readFile(address.startsWith("file:") ? new URL(address) : address);
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function textAt(memory, place) {
  const bytes = new Uint8Array(memory.buffer, place);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

// Copies a number, an array or a typed array into an array of the module.
function write(name, leaf, array, value) {
  const isBig = array instanceof BigInt64Array || array instanceof BigUint64Array;
  const number = (x) => (isBig ? BigInt(x) : Number(x));
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") value = [value];
  const given = Array.isArray(value) ? value.flat(Infinity) : value;
  const isList = Array.isArray(given) || ArrayBuffer.isView(given);
  if (!isList || given.length !== array.length)
    throw new TypeError(
      `${name}: ${leaf.name} needs ${array.length} numbers (${leaf.dtype}[${leaf.shape}]); ` +
      `got ${isList ? given.length : given === null ? "null" : typeof given}`);
  if (given.constructor === array.constructor) array.set(given);
  else for (let i = 0; i < array.length; i++) array[i] = number(given[i]);
}

function bind(exported, {name, leaves}) {
  const arrays = {};
  for (const leaf of leaves)
    arrays[leaf.name] =
      new globalThis[leaf.array](exported.memory.buffer, exported[`${name}.${leaf.name}`].value, leaf.size);
  const f = (given = {}) => {
    if (given === null || typeof given !== "object" || Array.isArray(given) || ArrayBuffer.isView(given)) {
      const names = leaves.filter((leaf) => leaf.reads && !leaf.writes).map((leaf) => leaf.name);
      throw new TypeError(`${name}: the arguments must be one object: ${name}({${names.join(", ")}})`);
    }
    for (const key of Object.keys(given))
      if (!leaves.some((leaf) => leaf.name === key && leaf.reads))
        throw new TypeError(`${name}: there is no argument ${key}`);
    for (const leaf of leaves) {
      if (leaf.name in given) write(name, leaf, arrays[leaf.name], given[leaf.name]);
      else if (leaf.reads && !leaf.writes) throw new TypeError(`${name}: the argument ${leaf.name} is missing`);
    }
    return f.run();
  };
  // Runs the function on the numbers that its arrays hold.
  f.run = () => {
    const code = exported[`${name}.run`]();
    if (code) throw new RangeError(textAt(exported.memory, exported[`${name}_error`](code)));
    const results = {};
    for (const leaf of leaves)
      if (leaf.writes && !leaf.reads)
        results[leaf.name] = leaf.shape.length ? arrays[leaf.name].slice() : arrays[leaf.name][0];
    return results;
  };
  f.arrays = arrays; // views of the memory of the module: arguments, results, and the state between calls
  f.leaves = leaves;
  return f;
}

// Loads the module: an address, a path of Node.js, bytes, or a response. Returns the first function; further ones are
// its properties by name.
export async function load(source) {
  const {instance} = await WebAssembly.instantiate(await bytesOf(source), {});
  const functions = FUNCTIONS.map((facts) => bind(instance.exports, facts));
  FUNCTIONS.forEach((facts, n) => { functions[0][facts.name] = functions[n]; });
  return functions[0];
}

export default load;
