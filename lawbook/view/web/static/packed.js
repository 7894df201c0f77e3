// Where the page's data comes from in a file that stands alone: from the file itself, unpacked when it is looked at.

async function inflate(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}

const json = async (id) => JSON.parse(new TextDecoder().decode(await inflate(id)));

const kept = new Map();

/** Unpacked once, kept from then on. */
function once(id, unpack) {
  if (!kept.has(id)) kept.set(id, unpack(id));
  return kept.get(id);
}

const told = (name) => once("run", json).then((run) => run[name]);

/** Frames of these numbers, as [[number, frame], ...]; those that are not in this file are not in the answer. */
async function frames(numbers) {
  const size = await told("pack");
  const packs = [...new Set(numbers.map((number) => Math.floor(number / size)))].filter((pack) =>
    document.getElementById(`frames${pack}`),
  );
  const found = new Map();
  for (const pack of packs)
    for (const [number, frame] of await once(`frames${pack}`, async (id) => split(await inflate(id), pack * size)))
      found.set(number, frame);
  return numbers.filter((number) => found.has(number)).map((number) => [number, found.get(number)]);
}

function split(packed, first) {
  const view = new DataView(packed);
  const found = [];
  for (let at = 0; at < packed.byteLength;) {
    const [height, width] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    found.push([first + found.length, { width, height, cells: new Uint8Array(packed, at + 4, width * height) }]);
    at += 4 + width * height;
  }
  return found;
}

export const source = {
  alone: document.getElementById("run").dataset.run,
  head: () => told("head"),
  overview: () => told("overview"),
  window: async (run, first, last) => {
    const steps = (await told("steps")).slice(first, last + 1);
    const numbers = steps.flatMap((step) => [step.frames.at(-1), ...Object.values(step.predicted ?? {}).flatMap((one) => (one.open === undefined ? [one.frame] : [one.frame, one.open]))]);
    return { told: steps, frames: await frames([...new Set(numbers)]) };
  },
  strip: async () => ({ told: [], frames: [] }),
  frames: (run, numbers) => frames(numbers),
  plan: async (run, number) => (await told("plans"))[number],
  proposals: () => told("proposals"),
  proposal: async (run, number) => (await once("texts", json))[number],
  members: () => told("members"),
  draws: async (run, before) => (before === undefined ? told("draws") : { first: 0, draws: [] }),
  series: () => told("series"),
  runGrows: () => () => {},
};
