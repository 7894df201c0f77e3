// The page: which view is shown, the head above it, keys, light and dark, and what happens when a run grows.

import { announce, fill, h, say } from "./dom.js";
import { help } from "./help.js";
import { NumbersView } from "./numbers.js";
import { PopulationView } from "./population.js";
import { go, here, link, onRoute } from "./route.js";
import { RulebookView } from "./rulebook.js";
import { RunRecord } from "./record.js";
import { source } from "./source.js";
import { Stage } from "./stage.js";
import { TableView } from "./table.js";
import { STATES } from "./words.js";

const VIEWS = [
  ["board", "Board", Stage],
  ["rulebook", "Rulebook", RulebookView],
  ["population", "Population", PopulationView],
  ["numbers", "Numbers", NumbersView],
];
const [top, page] = [document.getElementById("top"), document.getElementById("page")];
const keys = help();
let [run, view, kind, stop] = [null, null, "", () => {}];
let visited = 0;

const title = h("h1", {});
const player = h("span", { class: "dim who" });
const state = h("span", { class: "state" });
const tabs = VIEWS.map(([name, text]) => h("a", { class: "tab" }, text));
const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
const look = h(
  "button",
  {
    type: "button",
    class: "quiet",
    "aria-label": "Light, dark, or as the system",
    title: "Light and dark (t)",
    onclick: () => relight(true),
  },
  "◐",
);
fill(
  top,
  h(
    "div",
    { class: "head" },
    h("a", { class: "brand", href: source.alone ? null : "#" }, "lawbook"),
    title,
    state,
    player,
    h("nav", { class: "tabs", "aria-label": "Views" }, tabs),
    look,
    h("button", { type: "button", class: "quiet", "aria-label": "Keys", title: "Keys (?)", onclick: () => keys.toggle() }, "?"),
  ),
  trouble,
);
document.body.append(keys);

/** Something could not be had: say so, in a sentence, where it is seen and read out. */
function fail(error) {
  say(trouble, error.message);
  trouble.hidden = false;
}

function relight(turn = false) {
  const looks = ["", "light", "dark"];
  let now = "";
  try {
    now = localStorage.getItem("lawbook look") ?? "";
    if (turn) localStorage.setItem("lawbook look", (now = looks[(looks.indexOf(now) + 1) % 3]));
  } catch {
    if (turn) now = looks[(looks.indexOf(document.documentElement.dataset.look ?? "") + 1) % 3]; // a page that may keep nothing
  }
  document.documentElement.dataset.look = now;
  if (turn) announce(now ? `${now} colours` : "colours as the system has them");
}

/** Show the place that the address names. */
async function show() {
  const place = { ...here(), ...(source.alone ? { run: source.alone } : {}) };
  const wanted = place.run ? (VIEWS.some(([name]) => name === place.view) ? place.view : "board") : "table";
  trouble.hidden = true;
  if (run?.name === place.run && kind === wanted) return view.visit?.(place);
  const visit = ++visited;
  view?.leave();
  if (run?.name !== place.run) {
    stop();
    stop = () => {};
    run = place.run ? new RunRecord(place.run) : null;
    if (run) run.failed = fail;
  }
  kind = wanted;
  heads(place);
  try {
    await (run ? showRun(place, wanted, visit) : showTable());
  } catch (error) {
    fail(error);
  }
}

async function showTable() {
  view = new TableView();
  fill(page, view.element);
  const table = view;
  await table.grown();
  stop();
  stop = source.tableGrows(() => table.grown().catch(fail));
}

async function showRun(place, wanted, visit) {
  const known = run;
  const at = Number(place.step ?? 0);
  known.want(at); // on its way while the head is
  if (!known.head) await known.readHead();
  if (visit !== visited) return;
  view = new (VIEWS.find(([name]) => name === wanted)[2])(known);
  fill(page, view.element);
  heads(place);
  if (wanted === "board") view.visit(place);
  const first = !known.overview;
  if (first) await known.readOverview();
  if (visit !== visited) return;
  heads(place);
  await view.grown();
  if (first) known.readStrip().catch(fail);
  if (first && ["playing", "paused"].includes(known.overview.state)) {
    if (known.overview.state === "playing" && place.step === undefined && wanted === "board") view.chase(true);
    stop = source.runGrows(known.name, (seen) => grow(known, seen).catch(fail));
  }
}

/** The run that is looked at has grown, or somebody has begun or ceased to play it. */
async function grow(known, { seq, alive }) {
  const before = known.overview;
  if (seq <= before.seq && alive === (before.state === "playing")) return;
  if (known.growing) return void (known.again = { seq, alive });
  known.growing = true;
  try {
    await known.readOverview();
    known.forgetEnd(before.steps);
    if (known !== run) return;
    heads(here());
    await view.grown();
    if (!["playing", "paused"].includes(known.overview.state)) stop();
  } finally {
    known.growing = false;
    const again = known.again;
    known.again = null;
    if (again) grow(known, again).catch(fail);
  }
}

/** What stands above every view. */
function heads(place) {
  const head = run?.head;
  document.title = head ? `${head.world} · Lawbook` : run ? "Lawbook" : "Runs · Lawbook";
  say(title, head ? head.world : run ? "" : "Runs");
  say(
    player,
    head
      ? `${head.mind} under ${head.protocol}${head.population > 1 ? `, ${head.population} members` : ""}, seed ${head.seed}`
      : "",
  );
  const now = run?.overview?.state ?? "";
  state.className = `state ${STATES[now] ?? "quiet"}`;
  say(state, now.replace("_", " "));
  tabs.forEach((tab, k) => {
    const [name] = VIEWS[k];
    tab.hidden = !run;
    const kept = { step: place.step, proposal: name === "rulebook" ? place.proposal : null };
    tab.href = link({ run: source.alone ? null : place.run, view: name, ...kept });
    if (run && kind === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  });
}

/** To another view of the same run, at the same step. */
function turnTo(name) {
  const { step, proposal } = here();
  if (run) go({ ...(source.alone ? {} : { run: run.name }), view: name, step, proposal: name === "rulebook" ? proposal : null });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  const { target, key } = event;
  if (target.matches("input[type=search], input[type=text], input[type=number], select, textarea")) {
    if (key === "Escape") target.blur();
    return;
  }
  if ((key === " " || key === "Enter") && target.closest("button, a, summary, input[type=checkbox], input[type=radio]")) return;
  if (target.matches("input[type=range]:not(.slider)") && key.startsWith("Arrow")) return;
  if (target.closest(".lines") && /^(Arrow|Page|Home|End)/.test(key)) return; // a window of text scrolls
  const does = {
    "?": () => keys.toggle(),
    t: () => relight(true),
    u: () => !source.alone && go({}),
    b: () => kind === "rulebook" && turnTo("board"),
    g: () => kind === "board" && view.ask(),
    ...Object.fromEntries(VIEWS.map(([name], k) => [String(k + 1), () => turnTo(name)])),
  }[key];
  if (!does && !view?.key(event)) return;
  does?.();
  event.preventDefault();
});

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason);
});
onRoute(show);
relight();
show();
