// The population: every member's life as a lane, and the draws: classes of identical plans, and who drove.

import { fill, h, s } from "./dom.js";
import { link } from "./route.js";
import { count, number, percent } from "./words.js";

const LANE = 40;

export class PopulationView {
  constructor(run) {
    this.run = run;
    this.lanes = h("div", { class: "lanes" }, h("p", { class: "dim" }, "Reading the run …"));
    this.draws = h("tbody", {});
    this.more = h("button", { type: "button", class: "quiet", onclick: () => this.older() }, "earlier draws");
    this.element = h(
      "div",
      { class: "population" },
      this.lanes,
      h("h2", {}, "Draws"),
      h(
        "p",
        { class: "dim" },
        "Members with identical plans form one class. One class is drawn, and one of its members drives until the plan ends or " +
          "anybody is falsified.",
      ),
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["after action", "classes of plans", "driver", "actions", "plan"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        this.draws,
      ),
      this.more,
    );
  }

  async grown() {
    const found = await this.run.members();
    fill(this.lanes, this.drawing(found), this.table(found));
    fill(this.draws);
    this.first = undefined;
    await this.older();
  }

  drawing({ members, drives }) {
    const last = Math.max(1, this.run.last);
    return members
      .map((member) => {
        const driven = drives.filter(([, who]) => who === member.index);
        const svg = s(
          "svg",
          { viewBox: `0 0 ${last} ${LANE}`, preserveAspectRatio: "none", role: "img", "aria-label": this.words(member) },
          s("path", {
            class: "life",
            d: member.spans
              .map(([from, to]) => `M${from} 12h${(to ?? last) - from || 0.001}v12h${-((to ?? last) - from || 0.001)}z`)
              .join(""),
          }),
          s("path", { class: "drove", d: driven.map(([at, , actions]) => `M${at} 30h${Math.min(actions, last - at)}`).join("") }),
          s("path", { class: "missed", d: member.misses.map(([at]) => `M${at} 6v24`).join("") }),
          s("path", { class: "version", d: member.versions.map(([at]) => `M${at} 5h0`).join("") }),
        );
        return h("div", { class: "lane" }, h("b", {}, `member ${member.index}`), h("div", { class: "life-line" }, svg));
      })
      .concat(
        h(
          "p",
          { class: "legend", "aria-hidden": "true" },
          ["version", "life", "missed", "drove"].map((name, k) =>
            h("span", { class: `key ${name}` }, ["version accepted", "may steer", "falsified", "drives"][k]),
          ),
        ),
      );
  }

  words(member) {
    const at = member.misses.map(([step]) => step).join(", ");
    const fell = at ? `falsified at action ${at}` : "never falsified";
    return `Member ${member.index}: ${count(member.versions.length, "version")}; ${fell}; drove ${count(member.drove, "time")}.`;
  }

  table({ members }) {
    const heads = ["member", "stands", "versions", "refused", "falsified", "exact predictions", "drove", "bytes"];
    const row = (member) => {
      const [exact, wrong] = member.exact;
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, String(member.index)),
        h(
          "td",
          {},
          member.admissible
            ? h("span", { class: "good" }, "admissible")
            : member.version
              ? h("span", { class: "bad" }, "falsified")
              : "nothing accepted",
        ),
        h("td", { class: "n" }, number(member.versions.length)),
        h("td", { class: "n" }, number(member.refused)),
        h("td", { class: "n" }, fell(this.run.name, member)),
        h("td", { class: "n" }, percent(exact, exact + wrong)),
        h("td", { class: "n" }, number(member.drove)),
        h("td", { class: "n" }, number(member.bytes)),
      );
    };
    return h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((name, k) => h("th", { scope: "col", class: k > 1 ? "n" : null }, name)),
        ),
      ),
      h("tbody", {}, members.map(row)),
    );
  }

  async older() {
    const { first, draws } = await this.run.draws(this.first);
    this.first = first;
    this.more.hidden = first === 0;
    this.draws.append(...draws.map((draw) => this.draw(draw)));
    if (!this.draws.childElementCount)
      this.draws.append(h("tr", {}, h("td", { colspan: 5, class: "dim" }, "No plan was ever drawn.")));
  }

  draw(draw) {
    const place = { run: this.run.name, view: "board", step: draw.at };
    const chips = draw.classes.map((members, k) =>
      h("span", { class: k === draw.drawn ? "class drawn" : "class" }, members.join(" ")),
    );
    return h(
      "tr",
      {},
      h("td", { class: "n" }, h("a", { href: link(place) }, number(draw.at))),
      h("td", {}, chips),
      h("td", {}, `member ${draw.driver}`),
      h("td", { class: "n" }, number(draw.actions)),
      h("td", { class: "dim" }, draw.line),
    );
  }

  key() {
    return false;
  }

  leave() {}
}

/** How often a member was falsified, with a link to each of the first few times. */
function fell(run, member) {
  const links = member.misses
    .slice(0, 6)
    .map(([at, line]) => h("a", { href: link({ run, view: "board", step: at }), title: line }, number(at)));
  const spaced = links.flatMap((one, k) => (k ? [", ", one] : [one]));
  return [String(member.misses.length), ...(links.length ? [" (", ...spaced, member.misses.length > 6 ? ", …" : "", ")"] : [])];
}
