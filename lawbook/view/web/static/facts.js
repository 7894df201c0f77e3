// What is to be said about one step: what was done and why, what was predicted, what comes next.

import { h, say, fill } from "./dom.js";
import { actionName, actionSign, count, number } from "./words.js";

const ENDS = { running: "goes on", completed: "completed", over: "game over", truncated: "broken off" };

export class Facts {
  /** member: chooses whose prediction is shown; called with a member when somebody picks one. */
  constructor(head, member) {
    this.head = head;
    this.place = h("span", {});
    this.level = h("span", { class: "dim" });
    this.sort = h("span", { class: "chip" });
    this.action = h("b", {});
    this.whose = h("span", { class: "dim" });
    this.came = h("p", { class: "came" });
    this.question = h("p", { class: "question" });
    this.next = h("p", { class: "next dim" });
    this.picks = Array.from({ length: head.population > 1 ? head.population : 0 }, (_, k) =>
      h("button", { type: "button", class: "pick", "aria-pressed": "false", onclick: () => member(k) }, `member ${k}`),
    );
    this.element = h(
      "section",
      { class: "facts", "aria-label": "This action" },
      h("h2", {}, this.place, " ", this.level),
      h("p", { class: "did" }, this.sort, " ", this.action, " ", this.whose),
      this.came,
      this.question,
      this.next,
      this.picks.length ? h("p", { class: "picks", role: "group", "aria-label": "Whose prediction" }, this.picks) : null,
    );
  }

  /** step: null while it is on its way. shown: the member whose prediction is shown; cells: how many differ, null: none do. */
  show(at, last, step, shown, cells) {
    say(this.place, at ? `Action ${number(at)} of ${number(last)}` : "First sight");
    this.picks.forEach((pick, k) => pick.setAttribute("aria-pressed", String(k === shown)));
    if (!step) return;
    const levels = this.head.levels;
    const level = step.was ?? step.level;
    say(this.level, `level ${level + 1}${levels ? ` of ${levels}` : ""}`);
    this.sort.className = `chip ${step.sort ?? "reset"}`;
    say(this.sort, step.sort ?? "opening");
    say(this.action, actionName(step.action));
    say(
      this.whose,
      step.member !== null && step.member !== undefined && this.head.population > 1 ? `by member ${step.member}` : "",
    );
    const [mood, text] = came(step, shown, cells);
    this.came.className = `came ${mood}`;
    say(this.came, text);
    say(this.question, step.question ? `“${step.question}”` : "");
  }

  /** The plan that is followed next, or null. */
  ahead(plan, at) {
    if (!plan) return say(this.next, "");
    const left = plan.actions.slice(at - plan.from);
    const signs = left.slice(0, 12).map(actionSign).join(" ");
    const sure = plan.certified ? ", certified shortest" : "";
    fill(
      this.next,
      h("b", {}, plan.subgoal === null ? "Ahead: " : "Ahead, to find out: "),
      `${count(left.length, "action")}${at === plan.from ? sure : ` of ${plan.actions.length}`}`,
      h("span", { class: "signs" }, `${signs}${left.length > 12 ? " …" : ""}`),
    );
  }
}

/** [mood, sentence] about a prediction and what came. */
export function came(step, shown, cells) {
  if (!step.action) return ["quiet", "The world was opened; nothing had been predicted."];
  const ending = step.status === "completed" ? `Level ${step.was + 1} completed. ` : step.status === "over" ? "Game over. " : "";
  const told = step.predicted?.[shown];
  if (!told) return [ending && step.status === "completed" ? "good" : "quiet", `${ending}Nothing was predicted.`];
  if (told.exact === null) return ["quiet", `${ending}Not compared: the world broke off.`];
  const possible = told.statuses ? ` It was left open whether ${told.statuses.map((one) => ENDS[one]).join(" or ")}.` : "";
  if (told.exact && (told.open !== undefined || possible)) {
    return ["good", `${ending}As claimed${told.open === undefined ? "" : "; hatched cells were left open"}.${possible}`];
  }
  if (told.exact) return ["good", `${ending}Predicted exactly.`];
  if (!(told.statuses ?? [told.status]).includes(step.status)) return ["bad", `Predicted: ${ENDS[told.status]}. It came otherwise: ${ENDS[step.status]}.`];
  return ["bad", `${ending}${cells === null ? "Other than predicted." : `${count(cells, "cell")} other than predicted.`}`];
}
