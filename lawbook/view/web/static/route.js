// Where in the viewer we are, kept after the # of the address: #run=NAME&view=board&step=41. Every state of it is a link.

const listeners = [];

let changed = {}; // what `mark` has not written yet

export function here() {
  const place = { ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))), ...changed };
  return Object.fromEntries(
    Object.entries(place)
      .filter(([, value]) => known(value))
      .map(([name, value]) => [name, String(value)]),
  );
}

const known = (value) => value !== null && value !== undefined && value !== "";

/** The address of a place, for links. */
export function link(place) {
  return "#" + new URLSearchParams(Object.entries(place).filter(([, value]) => known(value)));
}

/** Go to a place, as a new entry in the browser's history. */
export function go(place) {
  write();
  if (link(place) === location.hash) return;
  history.pushState(null, "", link(place));
  tell();
}

let waiting = 0;

/** Change some of where we are, without a new entry and without telling anybody: the page shows it already. */
export function mark(changes) {
  Object.assign(changed, changes);
  clearTimeout(waiting); // browsers allow only so many changes of the address in a while
  waiting = setTimeout(write, 150);
}

function write() {
  clearTimeout(waiting);
  if (Object.keys(changed).length) history.replaceState(null, "", link(here()));
  changed = {};
}

export function onRoute(listener) {
  listeners.push(listener);
}

function tell() {
  clearTimeout(waiting);
  changed = {};
  for (const listener of listeners) listener();
}

addEventListener("popstate", tell);
