// The numbers of a run: levels against their baselines, and what grew while it was played.

import { chart } from "./chart.js";
import { fill, h } from "./dom.js";
import { count, number, percent, seconds, short } from "./words.js";

const MONEY = /dollar|usd|cost|money/;

export class NumbersView {
  constructor(run) {
    this.run = run;
    this.element = h("div", { class: "numbers" }, h("p", { class: "dim" }, "Reading the run …"));
  }

  async grown() {
    const found = await this.run.series();
    fill(
      this.element,
      tiles(found),
      levels(found.numbers),
      published(found),
      h("div", { class: "charts" }, charts(found)),
      table(found),
    );
  }

  key() {
    return false;
  }

  leave() {}
}

function tiles({ numbers: n }) {
  const tile = (name, value, about = "") => h("div", {}, h("dt", {}, name), h("dd", {}, value), h("small", {}, about));
  return h(
    "dl",
    { class: "tiles" },
    tile("levels", `${n.levels_completed}${n.levels ? ` of ${n.levels}` : ""}`),
    tile("actions", number(n.actions), `budget ${number(n.budget)}`),
    n.efficiency === null
      ? null
      : tile("RHAE", n.efficiency.toFixed(1), n.baseline === "human" ? "of 100" : `against ${n.baseline}`),
    tile(
      "exact predictions",
      percent(n.exact_predictions, n.predictions),
      `${number(n.exact_predictions)} of ${number(n.predictions)}`,
    ),
    tile("wrong predictions", number(n.mismatches)),
    tile("versions", number(n.versions), `${number(n.refusals)} refused`),
    tile("mind calls", number(n.mind_calls), seconds(n.thinking_seconds)),
    tile("time", seconds(n.seconds), `${seconds(n.verifying_seconds)} verifying`),
    Object.entries(n.costs).map(([name, value]) =>
      tile(name.replaceAll("_", " "), MONEY.test(name) ? `$${value.toFixed(2)}` : short(value)),
    ),
  );
}

/** Actions of every level as a bar, what others take as marks in it. */
function levels(n) {
  const columns = [[n.baseline, n.per_level.map((level) => level.baseline)]];
  const known = columns.filter(([, values]) => values.some((value) => value !== null));
  const most = Math.max(
    1,
    ...n.per_level.map((level) => level.actions),
    ...known.flatMap(([, values]) => values.map((value) => value ?? 0)),
  );
  const row = (level, k) => {
    const extra = [
      [n.resets[k], "reset"],
      [n.deaths[k], "death"],
    ]
      .filter(([times]) => times)
      .map(([times, what]) => count(times, what));
    const marks = known.map(([, values]) => values[k] !== null && h("i", { style: { left: `${(100 * values[k]) / most}%` } }));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, String(level.level + 1)),
      h("td", { class: "n" }, number(level.actions)),
      known.map(([, values]) => h("td", { class: "n dim" }, values[k] === null ? "–" : number(values[k]))),
      h(
        "td",
        { class: "wide" },
        h(
          "div",
          { class: level.completed ? "bar" : "bar open" },
          level.actions > 0 && h("b", { style: { width: `${(100 * level.actions) / most}%` } }),
          marks,
        ),
      ),
      h(
        "td",
        { class: "dim" },
        [level.completed ? "completed" : level.actions ? "not completed" : "not reached", ...extra].join(", "),
      ),
    );
  };
  return h(
    "section",
    { "aria-label": "Levels" },
    h("h2", {}, "Actions by level"),
    h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "level"),
          h("th", { scope: "col", class: "n" }, "actions"),
          known.map(([name]) => h("th", { scope: "col", class: "n" }, name)),
          h("th", { scope: "col" }, known.length ? `the mark is ${known[0][0]}` : ""),
          h("th", {}),
        ),
      ),
      h("tbody", {}, n.per_level.map(row)),
    ),
  );
}

/** What others needed for the whole game, where that has been published. */
function published({ published: others, numbers: n }) {
  if (!others.length) return null;
  const mine = { name: "this run", actions: n.actions, cleared: n.levels_completed === n.levels, rhae: n.efficiency };
  const most = Math.max(...[mine, ...others].map((one) => one.actions));
  const row = (one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.name),
      h("td", { class: "n" }, `${number(one.actions)}${one.cleared ? "" : "+"}`),
      h("td", { class: "n dim" }, one.rhae === null ? "–" : one.rhae.toFixed(1)),
      h(
        "td",
        { class: "wide" },
        h("div", { class: one === mine ? "bar" : "bar other" }, h("b", { style: { width: `${(100 * one.actions) / most}%` } })),
      ),
    );
  return h(
    "section",
    { "aria-label": "Published" },
    h("h2", {}, "The whole game, and what others have published"),
    h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["", "actions", "RHAE", ""].map((name, k) => h("th", { scope: "col", class: k % 3 ? "n" : null }, name)),
        ),
      ),
      h("tbody", {}, [mine, ...others].map(row)),
    ),
    h("p", { class: "dim" }, "A + marks a run that left a level uncleared: its count is what was spent, not what solving costs."),
  );
}

function charts({ numbers: n, accuracy, bytes, costs, minutes }) {
  const steps = (values) => values.reduce((line, value) => [...line, [line.length, line.at(-1)[1] + value]], [[0, 0]]);
  const solved = n.per_level.filter((level) => level.completed);
  const known = solved.every((level) => level.baseline !== null);
  const share = (value) => `${Math.round(100 * value)}%`;
  return [
    chart(
      "Cumulative actions",
      [
        { name: "this run", points: steps(solved.map((level) => level.actions)) },
        ...(known && solved.length
          ? [{ name: n.baseline, kind: "other", points: steps(solved.map((level) => level.baseline)) }]
          : []),
      ],
      { x: "levels completed" },
    ),
    chart("Prediction accuracy, of the last 50", [{ name: "exact", points: accuracy }], {
      format: share,
      top: 1,
      note: accuracy.length ? "" : "Nothing was predicted.",
    }),
    chart(
      "Description length, bytes",
      bytes.map((points, k) => ({ name: `member ${k}`, points, step: true, kind: k ? "other" : "main" })),
      { note: bytes.some((points) => points.length) ? "" : "Nothing was ever accepted." },
    ),
    chart("Minutes", [{ name: "minutes", points: minutes }]),
    ...Object.entries(costs).map(([name, points]) =>
      chart(name.replaceAll("_", " "), [{ name, points, step: true }], {
        format: MONEY.test(name) ? (value) => `$${value.toPrecision(2)}` : short,
      }),
    ),
  ];
}

function table({ numbers: n, left_out: left }) {
  const rows = [
    ["outcome", `${n.outcome ?? "not ended"}: ${n.sentence}`],
    [
      "kinds of action",
      Object.entries(n.action_kinds)
        .map(([name, value]) => `${number(value)} ${name}`)
        .join(", "),
    ],
    [
      "proposals",
      Object.entries(n.proposals)
        .map(([name, value]) => `${number(value)} ${name}`)
        .join(", ") || "none",
    ],
    ["description", n.description_bytes.map((size, k) => `${count(n.rules[k], "rule")}, ${number(size)} bytes`).join("; ")],
    ["replayed", count(n.replayed, "step")],
    ["sandbox", n.sandbox || "unknown"],
    ["head", n.head],
    ...(left ? [["left out", `${count(left, "frame")} that this file has no room for`]] : []),
  ];
  return h(
    "section",
    { "aria-label": "More" },
    h("h2", {}, "Everything else"),
    h(
      "table",
      { class: "plain facts-table" },
      h(
        "tbody",
        {},
        rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))),
      ),
    ),
  );
}
