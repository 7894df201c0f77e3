// Prose beside program, each as a diff with what did not change folded away; a rule leads to its code and to its evidence.

import { fill, h } from "./dom.js";
import { link } from "./route.js";
import { count, number } from "./words.js";

const AROUND = 3; // unchanged lines that stay to be seen on both sides of a change
const CLASSES = { "+": "new", "-": "gone", " ": "" };
const MARKS = { "+": "new in", "~": "reworded in" };

export class Texts {
  constructor(proposal, run) {
    this.proposal = proposal;
    this.run = run;
    this.lines = new Map(); // `file:line` -> element, of lines after the change
    this.panel = h("aside", { class: "about", "aria-live": "polite" });
    this.whole = h(
      "button",
      { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => this.unfold() },
      "whole texts",
    );
    const [book, ...rest] = proposal.texts;
    const changed = ({ rows }) => rows.some(([sign]) => sign !== " ");
    const files = [...rest.filter(changed), ...rest.filter((file) => !changed(file))];
    if (!book) {
      this.element = h("p", { class: "dim" }, "Nothing was changed.");
      return;
    }
    this.element = h(
      "section",
      { class: "texts" },
      h("p", { class: "texttools" }, this.summary(), this.whole),
      this.panel,
      h(
        "div",
        { class: "pair" },
        this.text(book, true),
        h(
          "div",
          {},
          files.map((file) => this.text(file, false)),
        ),
      ),
    );
    fill(this.panel, h("p", { class: "dim" }, "Choose a rule to see the code that cites it and the evidence that changed it."));
  }

  summary() {
    const counts = { "+": 0, "-": 0 };
    for (const { rows } of this.proposal.texts) for (const [sign] of rows) if (sign !== " ") counts[sign] += 1;
    return h(
      "span",
      {},
      h("span", { class: "new" }, `+${number(counts["+"])}`),
      " ",
      h("span", { class: "gone" }, `−${number(counts["-"])}`),
      " lines",
    );
  }

  text({ name, rows, cut, entries }, prose) {
    const shown = keep(rows, prose);
    this.pairs = paired(rows);
    const parts = [];
    for (let k = 0; k < rows.length;) {
      if (shown[k]) {
        parts.push(this.line(name, rows[k], entries?.[k], prose));
        k += 1;
        continue;
      }
      const from = k;
      while (k < rows.length && !shown[k]) k += 1;
      parts.push(this.fold(name, rows.slice(from, k), entries?.slice(from, k), prose));
    }
    return h(
      "section",
      { class: prose ? "text prose" : "text" },
      h("h3", {}, name),
      h(
        "div",
        { class: "lines", tabindex: 0, role: "region", "aria-label": name },
        parts.length ? parts : h("p", { class: "dim" }, "Empty."),
      ),
      cut ? h("p", { class: "dim" }, cut) : null,
    );
  }

  line(name, row, entry, prose) {
    const [sign, , after, text] = row;
    const words = this.words(row, prose && sign !== "-" ? entry : null);
    const element = h(
      "div",
      { class: `line ${CLASSES[sign]}` },
      h("span", { class: "no", "aria-hidden": "true" }, after ?? ""),
      h("span", { class: "sign" }, sign === "-" ? "−" : sign),
      h("span", { class: "words", dir: "auto" }, words),
    );
    if (after) this.lines.set(`${name}:${after}`, element);
    return element;
  }

  /** The text of a line. What differs from its like on the other side is marked; where it begins a rule, its name is a button. */
  words(row, entry) {
    const [, , , text] = row;
    const [from, to] = middle(text, this.pairs.get(row));
    const end = entry ? text.indexOf(entry) + entry.length : -1;
    const part = (start, stop) => {
      const cut = [Math.max(start, Math.min(from, stop)), Math.min(stop, Math.max(to, start))];
      return from < to && cut[0] < cut[1]
        ? [text.slice(start, cut[0]), h("mark", {}, text.slice(...cut)), text.slice(cut[1], stop)]
        : [text.slice(start, stop)];
    };
    if (end < (entry?.length ?? 0)) return part(0, text.length);
    const button = h(
      "button",
      { type: "button", class: "name", "aria-label": `About ${entry}`, onclick: () => this.about(entry) },
      entry,
    );
    return [text.slice(0, end - entry.length), button, ...part(end, text.length)];
  }

  fold(name, rows, entries, prose) {
    const open = () => element.replaceWith(...rows.map((row, k) => this.line(name, row, entries?.[k], prose)));
    const element = h("button", { type: "button", class: "fold", onclick: open }, `${count(rows.length, "line")} unchanged`);
    element.unfold = open;
    return element;
  }

  unfold() {
    for (const fold of this.element.querySelectorAll(".fold")) fold.unfold();
    this.whole.setAttribute("aria-pressed", "true");
  }

  /** What is known about one rule. */
  about(name) {
    const rule = this.proposal.rules[name];
    if (!rule) return;
    const board = (step, text) => h("a", { href: link({ run: this.run.name, view: "board", step }) }, text);
    const places = rule.places.map(([file, line]) =>
      h("li", {}, h("button", { type: "button", class: "place", onclick: () => this.visit(file, line) }, `${file}, line ${line}`)),
    );
    const past = rule.past.map((one) =>
      h(
        "li",
        {},
        `${MARKS[one.mark]} `,
        one.version
          ? h("a", { href: link({ run: this.run.name, view: "rulebook", proposal: one.number }) }, `version ${one.version}`)
          : "this proposal",
        ", ",
        board(one.at, `after action ${number(one.at)}`),
        one.step === null ? "" : [": ", board(one.step, one.line)],
      ),
    );
    fill(
      this.panel,
      h("h3", {}, name),
      h("div", {}, h("h4", {}, "cited by"), h("ul", {}, places.length ? places : h("li", { class: "dim" }, "no line of code"))),
      h(
        "div",
        {},
        h("h4", {}, "changed by"),
        h("ul", {}, past.length ? past : h("li", { class: "dim" }, "nothing since it was first written")),
      ),
    );
    const judged = this.proposal.judgement?.[name];
    if (judged) this.panel.append(h("p", { class: "dim" }, `Judged: ${judged}`));
    for (const marked of this.element.querySelectorAll(".cited")) marked.classList.remove("cited");
    for (const [file, line] of rule.places) this.find(file, line)?.classList.add("cited");
    if (rule.places.length) this.visit(...rule.places[0], false);
  }

  find(file, line) {
    if (!this.lines.has(`${file}:${line}`)) this.unfold();
    return this.lines.get(`${file}:${line}`);
  }

  /** Scroll to a line of the program, within its own window. */
  visit(file, line, focus = true) {
    const element = this.find(file, line);
    if (!element) return;
    const window = element.parentElement;
    window.scrollTop = element.offsetTop - window.offsetTop - window.clientHeight / 3;
    if (focus) window.focus({ preventScroll: true });
  }
}

/** Row -> the text it replaced, or was replaced by, for runs of as many lines gone as new. */
function paired(rows) {
  const pairs = new Map();
  for (let k = 0; k < rows.length; k++) {
    const run = (sign, from) => {
      let end = from;
      while (end < rows.length && rows[end][0] === sign) end += 1;
      return end - from;
    };
    const gone = run("-", k);
    if (!gone) continue;
    const fresh = run("+", k + gone);
    for (let n = 0; fresh === gone && n < gone; n++) {
      pairs.set(rows[k + n], rows[k + gone + n][3]);
      pairs.set(rows[k + gone + n], rows[k + n][3]);
    }
    k += gone + fresh - 1;
  }
  return pairs;
}

/** [from, to] of what is different in the middle of a text, by whole words; nothing where it is nearly all of it. */
function middle(text, other) {
  if (other === undefined) return [0, 0];
  const shorter = Math.min(text.length, other.length);
  let from = 0;
  while (from < shorter && text[from] === other[from]) from += 1;
  let back = 0;
  while (back < shorter - from && text[text.length - 1 - back] === other[other.length - 1 - back]) back += 1;
  while (from > 0 && /\w/.test(text[from - 1])) from -= 1;
  while (back > 0 && /\w/.test(text[text.length - back])) back -= 1;
  return from + back < 0.3 * text.length ? [0, 0] : [from, text.length - back];
}

/** Which rows stay to be seen: changes and a few lines around them; a fold of one or two lines would save nothing. */
function keep(rows, prose) {
  const shown = new Array(rows.length).fill(false);
  rows.forEach(([sign], k) => {
    if (sign !== " ") shown.fill(true, Math.max(0, k - AROUND), Math.min(rows.length, k + AROUND + 1));
  });
  if (!shown.some(Boolean)) return shown.fill(prose); // an unchanged program is one fold, an unchanged rulebook there to be read
  for (let k = 0; k < rows.length; k++) {
    let end = k;
    while (end < rows.length && !shown[end]) end += 1;
    if (end > k && end - k < 4) shown.fill(true, k, end);
    k = Math.max(k, end - 1);
  }
  return shown;
}
