// The rulebook as it grew: every proposal on a line of time, and one of them whole, prose beside program.

import { Board } from "./board.js";
import { Texts } from "./diffs.js";
import { fill, h } from "./dom.js";
import { here, link, mark } from "./route.js";
import { Timeline } from "./timeline.js";
import { actionName, count, number, seconds } from "./words.js";

const WHY = {
  start: "first sight",
  mismatch: "a wrong prediction",
  level: "a level was completed",
  no_plan: "nobody had a plan",
  refused: "the proposal before was refused",
  simplify: "can it be said more simply?",
  explore: "what to find out",
};

export class RulebookView {
  constructor(run) {
    this.run = run;
    this.list = h("ol", { class: "proposals" }, h("li", { class: "dim" }, "Reading the run …"));
    this.kept = h("input", { type: "checkbox", id: "kept", onchange: () => this.sieve() });
    this.detail = h("article", { class: "proposal", "aria-live": "off" });
    this.timeline = new Timeline(
      (step) => this.near(step),
      () => "",
    );
    this.element = h(
      "div",
      { class: "book" },
      this.timeline.element,
      h(
        "nav",
        { "aria-label": "Proposals" },
        h("p", { class: "sieve" }, this.kept, h("label", { for: "kept" }, "also what changed nothing")),
        this.list,
      ),
      this.detail,
    );
  }

  async grown() {
    this.timeline.draw(this.run.overview);
    this.all = (await this.run.proposals()).proposals;
    const sized = new Map();
    this.items = this.all.map((one) => {
      const before = sized.get(one.member);
      if (one.version) sized.set(one.member, one.bytes);
      return [one, this.item(one, before)];
    });
    fill(
      this.list,
      this.items.length ? this.items.map(([, item]) => item) : h("li", { class: "dim" }, "Nothing was ever proposed in this run."),
    );
    this.sieve();
    if (this.number) this.current(this.number);
    else this.visit(here());
  }

  /** Open the proposal of a place, or what stood at its step. */
  visit({ proposal, step }) {
    if (!this.all) return;
    const at = Number(step ?? this.run.last);
    const standing = this.all.findLast((one) => one.version && one.at <= at) ?? this.all[0];
    const wanted = this.all[Number(proposal) - 1] ?? standing;
    if (wanted) this.open(wanted.number);
    else fill(this.detail, h("p", { class: "dim" }, "The mind of this run explores, and writes nothing down."));
  }

  /** Mark one in the list, and bring it into its window. */
  current(number) {
    for (const [one, item] of this.items) {
      const link = item.firstElementChild;
      if (one.number !== number) {
        link.removeAttribute("aria-current");
        continue;
      }
      link.setAttribute("aria-current", "true");
      const [top, room] = [item.offsetTop - this.list.offsetTop, this.list.clientHeight];
      if (top < this.list.scrollTop || top > this.list.scrollTop + room - 40) this.list.scrollTop = top - room / 2;
    }
  }

  item(one, before) {
    const plus = one.marks.filter((mark) => mark === "+").length;
    const minus = one.marks.filter((mark) => mark === "-").length;
    const said = one.marks.filter((mark) => mark === "~").length;
    const grew = one.version && before !== undefined ? one.bytes - before : null;
    const kind = one.version ? "version" : one.outcome === "admissible" ? "kept" : "refused";
    const name = one.version ? `version ${one.version}` : kind === "kept" ? "retained" : `refused: ${one.outcome}`;
    return h(
      "li",
      { class: kind },
      h(
        "a",
        { href: link({ run: this.run.name, view: "rulebook", proposal: one.number }) },
        h("span", { class: "at" }, number(one.at)),
        h(
          "span",
          { class: "what" },
          h("b", {}, name),
          this.run.head.population > 1 ? h("span", { class: "dim" }, ` member ${one.member}`) : null,
          h(
            "span",
            { class: "delta" },
            plus ? h("span", { class: "new" }, ` +${plus}`) : null,
            minus ? h("span", { class: "gone" }, ` −${minus}`) : null,
            said ? h("span", { class: "said" }, ` ~${said}`) : null,
            grew ? h("span", { class: "dim" }, ` ${grew > 0 ? "+" : "−"}${number(Math.abs(grew))} bytes`) : null,
          ),
        ),
      ),
    );
  }

  sieve() {
    this.list.classList.toggle("changes", !this.kept.checked);
  }

  /** Those in the list. */
  seen() {
    return this.all.filter((one) => this.kept.checked || one.version || one.outcome !== "admissible");
  }

  /** The proposal that stood, or was made, at a step. */
  near(step) {
    const seen = this.seen();
    const found = seen.findLast((one) => one.at <= step) ?? seen[0];
    if (found) this.open(found.number);
  }

  async open(number) {
    if (number === this.number) return;
    this.number = number;
    this.current(number);
    const one = await this.run.proposal(number);
    if (this.number !== number) return;
    this.timeline.set(one.at);
    mark({ proposal: number, step: one.at || null, frame: null });
    this.show(one);
  }

  show(one) {
    const texts = new Texts(one, this.run);
    const member = this.run.head.population > 1 ? ` of member ${one.member}` : "";
    const title = one.version
      ? `Version ${one.version}${member}`
      : one.outcome === "admissible"
        ? `Retained${member}`
        : `Refused${member}`;
    const to = (step, text) => h("a", { href: link({ run: this.run.name, view: "board", step }) }, text);
    const proved = one.replayed
      ? `replayed ${count(one.replayed, "step")} in ${seconds(one.seconds)}`
      : "nothing on record to replay";
    fill(
      this.detail,
      h("h2", {}, title, " ", h("small", {}, `${one.decision.replace("_", " ")}, `, to(one.at, `after action ${number(one.at)}`))),
      h("p", { class: "dim" }, `Asked because: ${WHY[one.why] ?? one.why}. ${number(one.bytes)} bytes; ${proved}.`),
      one.cause ? h("p", { class: "bad" }, to(one.cause.step, one.cause.line), ".") : null,
      one.diagnosis ? h("p", { class: "diagnosis" }, one.diagnosis) : null,
      one.outcome === "admissible" ? null : this.refusal(one),
      texts.element,
    );
  }

  /** Why the gate refused it, with the counterexample on the board. */
  refusal(one) {
    const example = one.counterexample;
    const parts = [h("p", { class: "why" }, one.reason)];
    if (one.outcome === "unfaithful" && one.judgement) {
      parts.push(
        h(
          "ul",
          { class: "judged" },
          Object.entries(one.judgement).map(([rule, said]) => h("li", {}, h("b", {}, rule), ` ${said}`)),
        ),
      );
    }
    if (example?.step !== null && example?.step !== undefined) parts.push(this.picture(example));
    return h("section", { class: "refusal", "aria-label": "Why it was refused" }, parts);
  }

  picture(example) {
    const board = new Board(this.run.head, "What was observed, with the cells that the program had otherwise");
    const place = link({ run: this.run.name, view: "board", step: example.step });
    const colours = (codes) =>
      codes.map((code) =>
        h("span", { class: "swatch", title: String(code), style: { "background-color": this.run.head.colours[code] } }),
      );
    const show = async () => {
      this.run.want(example.step);
      const step = this.run.step(example.step);
      const frame = step && this.run.frame(step.frames.at(-1));
      if (!frame) return setTimeout(show, 60);
      board.show(frame);
      board.overlay({ regions: example.regions });
    };
    show();
    return h(
      "figure",
      { class: "example" },
      board.box,
      h(
        "figcaption",
        {},
        h("p", {}, h("a", { href: place }, example.step ? `Action ${number(example.step)}` : "First sight"), `: ${example.line}.`),
        h(
          "ul",
          { class: "regions" },
          example.regions
            .slice(0, 6)
            .map((region) =>
              h(
                "li",
                {},
                `${count(region.cells, "cell")}: observed `,
                colours(region.expected),
                " predicted ",
                colours(region.predicted),
              ),
            ),
        ),
        example.action ? h("p", { class: "dim" }, `That was ${actionName(example.action)}.`) : null,
      ),
    );
  }

  key({ key }) {
    const by = { j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1 }[key];
    if (by) {
      const seen = this.seen();
      const next = seen[seen.findIndex((one) => one.number === this.number) + by];
      if (next) this.open(next.number);
      return true;
    }
    if (key === "v" || key === "V") {
      const versions = this.all.filter((one) => one.version);
      const next =
        key === "v" ? versions.find((one) => one.number > this.number) : versions.findLast((one) => one.number < this.number);
      if (next) this.open(next.number);
      return true;
    }
    if (key !== "r") return false;
    this.kept.click();
    return true;
  }

  leave() {}
}
