// A line chart, small and plain, with its numbers in words for those who do not see it.

import { h, s } from "./dom.js";
import { number, short } from "./words.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [520, 200, 46, 24, 10, 10];

/** lines: [{name, points: [[x, y]], step, kind}]; kind: `main` or `other`. */
export function chart(title, lines, { x = "actions", format = short, top = null, note = "" } = {}) {
  const all = lines.flatMap((line) => line.points);
  if (!all.length)
    return h(
      "figure",
      { class: "chart" },
      h("figcaption", {}, h("b", {}, title)),
      h("p", { class: "dim" }, note || "Nothing to show."),
    );
  const right = Math.max(1, ...all.map(([at]) => at));
  const high = top ?? nice(Math.max(...all.map(([, value]) => value), 1e-9));
  const across = (at) => LEFT + ((WIDTH - LEFT - RIGHT) * at) / right;
  const up = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / high;
  const rules = [0, 0.5, 1].map((share) => [
    s("path", { class: "rule", d: `M${LEFT} ${up(share * high)}H${WIDTH - RIGHT}` }),
    s("text", { x: LEFT - 8, y: up(share * high) + 4, "text-anchor": "end" }, format(share * high)),
  ]);
  const paths = lines.map((line) => {
    const d = line.points
      .map(
        ([at, value], k) =>
          (k === 0 ? "M" : line.step ? `H${across(at)}V` : "L") + (k && line.step ? "" : `${across(at)} `) + up(value),
      )
      .join("");
    const end = line.step && line.points.length ? `H${across(right)}` : "";
    return s("path", { class: `line ${line.kind ?? "main"}`, d: line.points.length ? d + end : "" });
  });
  const last = (line) =>
    line.points.length ? `${line.name}: ${format(line.points.at(-1)[1])} at the end` : `${line.name}: nothing`;
  const words = `${title}. ${lines.map(last).join("; ")}.`;
  return h(
    "figure",
    { class: "chart" },
    h(
      "figcaption",
      {},
      h("b", {}, title),
      lines.length > 1 ? lines.map((line) => h("span", { class: `key ${line.kind ?? "main"}` }, line.name)) : null,
    ),
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
      rules,
      paths,
      s("text", { x: LEFT, y: HEIGHT - 6 }, "0"),
      s("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, `${number(Math.round(right))} ${x}`),
    ),
    note ? h("p", { class: "dim" }, note) : null,
  );
}

/** The next larger of 1, 2, 2.5, 5 times a power of ten. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find((step) => step * power >= value) * power;
}
