// What the keys do, in a dialog of its own.

import { h } from "./dom.js";

const KEYS = [
  [
    "Everywhere",
    [
      ["1 2 3 4", "board, rulebook, population, numbers"],
      ["u", "back to the table of runs"],
      ["t", "light, dark, as the system"],
      ["?", "this help"],
    ],
  ],
  [
    "Board",
    [
      ["← →", "one action back, on"],
      ["shift ← →  or  , .", "one frame of the animation back, on"],
      ["space", "play, pause"],
      ["+ −", "faster, slower"],
      ["home end", "first, last"],
      ["page up, down", "25 actions back, on"],
      ["m, M", "next, previous wrong prediction"],
      ["v, V", "next, previous version"],
      ["l, L", "next, previous level"],
      ["g", "go to an action"],
      ["f", "follow a run that is being played"],
    ],
  ],
  [
    "Rulebook",
    [
      ["j k  or  ↓ ↑", "next, previous proposal"],
      ["v, V", "next, previous version"],
      ["r", "with or without what changed nothing"],
      ["b", "to the board at that action"],
    ],
  ],
  [
    "Table",
    [
      ["↓ ↑", "next, previous run"],
      ["enter", "open it"],
      ["/", "filter"],
      ["x", "choose it"],
      ["c", "compare those chosen"],
    ],
  ],
];

/** A dialog that shows the keys; `toggle` opens and closes it. */
export function help() {
  const close = h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "close");
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Keys" },
    h("div", { class: "help-head" }, h("h2", {}, "Keys"), close),
    h(
      "div",
      { class: "help-keys" },
      KEYS.map(([where, keys]) =>
        h(
          "section",
          {},
          h("h3", {}, where),
          h(
            "dl",
            {},
            keys.map(([key, does]) => [h("dt", {}, key), h("dd", {}, does)]),
          ),
        ),
      ),
    ),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.toggle = () => (dialog.open ? dialog.close() : dialog.showModal());
  return dialog;
}
