// Where the page's data comes from: the server that sent the page. A report has packed.js in this place.

async function ask(path, kind = "json") {
  const answer = await fetch(path);
  if (answer.ok) return answer[kind]();
  let sentence = `The viewer answered ${answer.status}.`;
  try {
    sentence = (await answer.json()).error;
  } catch {
    // no JSON: the number has to do
  }
  throw new Error(sentence);
}

const of = (run, path) => `/api/runs/${encodeURIComponent(run)}/${path}`;

/** An answer in two parts: something told, and the frames that show it. */
function parts(answer) {
  const end = 4 + new DataView(answer).getUint32(0, true);
  return { told: JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, end - 4))), frames: unpacked(answer, end) };
}

/** Frames as the server packs them, as [[id, {width, height, cells}], ...]. */
function unpacked(packed, from = 0) {
  const view = new DataView(packed);
  const found = [];
  for (let at = from; at < packed.byteLength;) {
    const id = Array.from(new Uint8Array(packed, at, 20), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const [height, width] = [view.getUint16(at + 20, true), view.getUint16(at + 22, true)];
    found.push([id, { width, height, cells: new Uint8Array(packed, at + 24, width * height) }]);
    at += 24 + width * height;
  }
  return found;
}

/** Calls `grown` with what the stream tells, and again whenever it changes. Returns a function that ends it. */
function stream(path, grown) {
  let events = null;
  const open = () => {
    if (events || document.hidden) return;
    events = new EventSource(path);
    events.onmessage = (event) => grown(JSON.parse(event.data));
  };
  const close = () => {
    events?.close();
    events = null;
  };
  // A browser opens six connections to one place: a page that nobody looks at gives its own back.
  const turn = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", turn);
  open();
  return () => {
    document.removeEventListener("visibilitychange", turn);
    close();
  };
}

export const source = {
  alone: null,
  runs: () => ask("/api/runs"),
  picture: (run, frame) => of(run, `picture.png?frame=${frame}`),
  compared: (runs) => `/compare?${new URLSearchParams(runs.map((run) => ["run", run]))}`,
  head: (run) => ask(of(run, "head")),
  overview: (run) => ask(of(run, "overview")),
  window: (run, first, last) => ask(of(run, `window?from=${first}&to=${last}`), "arrayBuffer").then(parts),
  strip: (run) => ask(of(run, "strip"), "arrayBuffer").then(parts),
  frames: (run, ids) => ask(of(run, `frames?ids=${ids.join(",")}`), "arrayBuffer").then((answer) => unpacked(answer)),
  plan: (run, number) => ask(of(run, `plans/${number}`)),
  proposals: (run) => ask(of(run, "proposals")),
  proposal: (run, number) => ask(of(run, `proposals/${number}`)),
  members: (run) => ask(of(run, "members")),
  draws: (run, before) => ask(of(run, "draws" + (before === undefined ? "" : `?before=${before}`))),
  series: (run) => ask(of(run, "series")),
  tableGrows: (grown) => stream("/api/grows", grown),
  runGrows: (run, grown) => stream(of(run, "grows"), grown),
};
