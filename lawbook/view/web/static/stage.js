// The board of a run: observed beside predicted, step by step, with what was meant and what was believed.

import { Board, difference } from "./board.js";
import { Controls } from "./controls.js";
import { Facts, came } from "./facts.js";
import { Happened, RulesThen } from "./beside.js";
import { Player } from "./player.js";
import { Timeline } from "./timeline.js";
import { announce, h, say } from "./dom.js";
import { actionName } from "./words.js";
import { mark } from "./route.js";

const FLEETING = 16; // steps a second above which an animation is not played: nobody would see it
const DWELL = 40; // milliseconds at one step, after which somebody is taken to look at it
const CALM = 90; // milliseconds without a move, after which what takes time to fetch and to read is shown too

export class Stage {
  constructor(run) {
    this.run = run;
    this.at = 0;
    this.moment = null; // which frame of the animation; null: the settled one
    this.member = null; // whose prediction somebody asked for; null: the driver's
    this.following = false;
    this.plans = new Map(); // those that have come
    this.observed = new Board(run.head, "Observed");
    this.predicted = new Board(run.head, "Predicted", "");
    this.facts = new Facts(run.head, (member) => this.choose(member));
    this.rules = new RulesThen(run);
    this.happened = new Happened(run);
    this.timeline = new Timeline(
      (step) => this.go(step),
      () => this.words(),
    );
    this.player = new Player(
      () => this.walk(),
      () => this.weight(),
      () => this.controls.playing(this.player),
    );
    this.controls = new Controls(this);
    this.element = h(
      "div",
      { class: "stage" },
      h("div", { class: "boards" }, this.figure("observed", this.observed), this.figure("predicted", this.predicted)),
      h("div", { class: "beside" }, this.facts.element, this.rules.element),
      h("div", { class: "below" }, this.controls.element, this.timeline.element, this.happened.element),
    );
    run.arrived = () => this.soon();
  }

  figure(name, board) {
    const caption = h("figcaption", {}, name);
    if (name === "observed") {
      this.moments = h("input", {
        type: "range",
        min: 0,
        max: 0,
        value: 0,
        class: "moments",
        "aria-label": "Frame of the animation",
        oninput: () => this.look(Number(this.moments.value)),
      });
      this.momentText = h("span", { class: "dim" });
      caption.append(h("span", { class: "animation" }, this.momentText, this.moments));
    }
    return h("figure", {}, board.box, caption);
  }

  /** A link has led here. */
  visit({ step, frame }) {
    const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);
    this.go(whole(step) ?? 0, whole(frame));
  }

  // -- moving ------------------------------------------------------------------------------------------------------------

  /** The overview has come, or the run has grown. */
  grown() {
    this.timeline.draw(this.run.overview);
    this.controls.live(["playing", "paused"].includes(this.run.overview.state));
    this.go(this.following ? this.run.last : Math.min(this.at, this.run.last), this.moment);
  }

  go(step, moment = null) {
    const to = Math.max(0, this.run.overview ? Math.min(step, this.run.last) : step);
    if (this.following && to < this.run.last) this.chase(false);
    this.at = to;
    this.moment = moment;
    this.soon();
  }

  /** One frame of the animation. */
  look(moment) {
    const step = this.run.step(this.at);
    if (!step) return;
    this.moment = moment >= step.frames.length - 1 ? null : Math.max(0, moment);
    this.soon();
  }

  glance(by) {
    const step = this.run.step(this.at);
    if (step) this.look((this.moment ?? step.frames.length - 1) + by);
  }

  /** To the next or previous wrong prediction, version or level. */
  jump(kind, by) {
    const all = this.run.overview?.[kind] ?? [];
    const places = all.map((one) => (kind === "misses" ? one : kind === "versions" ? one[0] : one.from));
    const found = by > 0 ? places.find((n) => n > this.at) : places.findLast((n) => n < this.at);
    if (found === undefined) return announce(by > 0 ? "There is none after this." : "There is none before this.");
    this.player.toggle(false);
    this.go(found);
    this.announcing = true;
  }

  /** Be ready for the number of an action. */
  ask() {
    this.controls.to.focus();
  }

  /** Go to the action that was typed. */
  goTyped(text) {
    if (!/^\d{1,9}$/.test(text)) return;
    this.go(Number(text));
    this.announcing = true;
  }

  choose(member) {
    this.member = member;
    this.soon();
  }

  chase(on) {
    this.following = on;
    this.controls.following(on);
    if (on) this.go(this.run.last);
  }

  walk() {
    const step = this.run.step(this.at);
    if (step && this.moment !== null) {
      if (this.here(step.frames[this.moment + 1])) this.look(this.moment + 1);
      return true;
    }
    if (this.at >= this.run.last) return false;
    const next = this.run.step(this.at + 1);
    if (!next) this.run.want(this.at + 1);
    else if (this.player.speed > FLEETING || next.frames.length === 1) this.go(this.at + 1);
    else if (this.here(next.frames[0])) this.go(this.at + 1, 0);
    return true;
  }

  /** Whether a frame of an animation is here. If not, the next ones are sent for, all at once, and what plays waits. */
  here(id) {
    if (this.run.frame(id)) return true;
    const ids = [];
    for (let n = this.at; n < this.at + 16 && ids.length < 200; n++) ids.push(...(this.run.step(n)?.frames ?? []));
    this.run.wantFrames(ids);
    return false;
  }

  /** The frames of an animation share the time of two steps, but for the settled one, which has a whole. */
  weight() {
    const frames = this.run.step(this.at)?.frames.length ?? 1;
    return this.moment === null ? 1 : Math.min(1, 2 / frames);
  }

  // -- showing -----------------------------------------------------------------------------------------------------------

  soon() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const run = this.run;
    mark({ step: this.at || null, frame: this.moment });
    this.timeline.set(this.at);
    const step = run.step(this.at);
    clearTimeout(this.dwell);
    if (step || !this.pass()) run.want(this.at, this.player.playing);
    const whose = this.member ?? step?.member ?? Number(Object.keys(step?.predicted ?? {})[0] ?? 0);
    if (!step) return this.facts.show(this.at, run.last, null, whose, null);
    const told = step.predicted?.[whose];
    if (this.moment !== null && this.moment >= step.frames.length - 1) this.moment = null;
    const settled = this.moment === null;
    const shownId = step.frames[settled ? step.frames.length - 1 : this.moment];
    const seen = this.fetched(shownId);
    const foreseen = told ? this.fetched(told.frame) : null;
    if (seen || this.run.lost(shownId)) this.observed.show(seen, "left out of this file");
    this.predicted.show(foreseen, told ? "" : step.action ? "nothing was predicted" : "first sight");
    const unclaimed = told?.open === undefined ? null : this.fetched(told.open);
    const wrong =
      settled && told?.exact === false ? difference(this.fetched(step.frames.at(-1)), foreseen, unclaimed?.cells) : null;
    const cells = wrong ? wrong.reduce((sum, one) => sum + one, 0) : null;
    this.facts.show(this.at, run.last, step, whose, cells);
    this.moments.max = step.frames.length - 1;
    this.moments.value = this.moment ?? step.frames.length - 1;
    this.moments.disabled = step.frames.length < 2;
    say(
      this.momentText,
      step.frames.length > 1 ? `frame ${(this.moment ?? step.frames.length - 1) + 1} of ${step.frames.length}` : "",
    );
    this.shown = { step, whose, wrong, told, open: unclaimed?.cells };
    this.overlay(this.plans.get(step.ahead) ?? null);
    if (this.player.playing) this.lookAhead();
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.rest(), CALM);
  }

  /** Somebody hurries through: a frame near by stands for this step, and what it really shows is sent for once they slow down. */
  pass() {
    const frame = this.run.passing(this.at);
    if (!frame) return false;
    this.observed.show(frame);
    this.observed.overlay();
    this.predicted.show(null, "…");
    this.dwell = setTimeout(() => this.run.want(this.at), DWELL);
    return true;
  }

  /** A frame, if it is here; it is asked for if not. */
  fetched(id) {
    const frame = this.run.frame(id);
    if (!frame) this.run.wantFrames([id]);
    return frame;
  }

  overlay(plan) {
    const { step, wrong, open } = this.shown;
    const mood = step.status === "completed" ? 1 : step.status === "over" ? 2 : 0;
    const click = step.action?.length > 1 ? [step.action.slice(1)] : [];
    const left = plan ? plan.actions.slice(this.at - plan.from) : [];
    const way = plan && this.moment === null ? plan.points.slice(this.at - plan.from) : [];
    const ahead =
      this.moment === null
        ? left
            .filter((one) => one.length > 1)
            .slice(0, 40)
            .map((one) => one.slice(1))
        : [];
    this.observed.overlay({ wrong, way, mood, clicks: ahead.length ? ahead : click });
    this.predicted.overlay({ wrong, mood, open });
  }

  /** Once nobody moves any more: the plan ahead, the rulebook then, what happened, the frames of the animation. */
  async rest() {
    const { step, whose } = this.shown;
    const at = this.at;
    this.run.want(at, true);
    this.happened.show(at);
    this.rules.show(whose, at);
    if (step.frames.length > 1) this.run.wantFrames(step.frames);
    if (this.announcing) announce(this.words());
    this.announcing = false;
    this.lookAhead();
  }

  /** The plan that is followed next, drawn and told. */
  async lookAhead() {
    const { step } = this.shown;
    const at = this.at;
    const plan = step.ahead === null ? null : await this.run.plan(step.ahead);
    if (plan) this.plans.set(plan.number, plan);
    if (this.at !== at || this.shown.step !== step) return;
    this.facts.ahead(plan, at);
    if (plan) this.overlay(plan);
  }

  /** The present step in a sentence. */
  words() {
    const step = this.run.step(this.at);
    if (!step) return "";
    const whose = this.member ?? step.member ?? 0;
    return `${step.action ? `${step.sort}, ` : ""}${actionName(step.action)}. ${came(step, whose, null)[1]}`;
  }

  key(event) {
    const { key, shiftKey } = event;
    const does = {
      ArrowRight: () => (shiftKey ? this.glance(1) : this.go(this.at + 1)),
      ArrowLeft: () => (shiftKey ? this.glance(-1) : this.go(this.at - 1)),
      ".": () => this.glance(1),
      ",": () => this.glance(-1),
      " ": () => this.player.toggle(),
      Home: () => this.go(0),
      End: () => this.go(this.run.last),
      PageUp: () => this.go(this.at - 25),
      PageDown: () => this.go(this.at + 25),
      m: () => this.jump("misses", 1),
      M: () => this.jump("misses", -1),
      v: () => this.jump("versions", 1),
      V: () => this.jump("versions", -1),
      l: () => this.jump("levels", 1),
      L: () => this.jump("levels", -1),
      f: () => this.chase(!this.following),
      "+": () => this.player.faster(1),
      "-": () => this.player.faster(-1),
    }[key];
    if (does && event.target === this.timeline.slider && /^(Arrow|Home|End|Page)/.test(key) && !shiftKey) return false; // its own
    does?.();
    return Boolean(does);
  }

  leave() {
    this.player.toggle(false);
    clearTimeout(this.calm);
    clearTimeout(this.dwell);
    this.run.arrived = () => {};
  }
}
