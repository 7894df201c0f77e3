// The buttons below the boards: moving, playing, jumping, following.

import { h, say } from "./dom.js";

const JUMPS = [
  ["wrong", "misses", "wrong prediction", "m"],
  ["version", "versions", "version", "v"],
  ["level", "levels", "level", "l"],
];

const button = (label, sign, does, key) =>
  h("button", { type: "button", "aria-label": label, title: `${label} (${key})`, onclick: does }, sign);

export class Controls {
  constructor(stage) {
    this.play = button("Play", "▶", () => stage.player.toggle(), "space");
    this.play.classList.add("play");
    this.rate = h("span", { class: "rate" });
    this.follow = button("Follow the run", "follow", () => stage.chase(!stage.following), "f");
    this.follow.classList.add("follow");
    this.to = h("input", {
      type: "number",
      min: 0,
      class: "to",
      "aria-label": "Go to action",
      title: "Go to action (g)",
      placeholder: "go to",
    });
    this.to.addEventListener("change", () => {
      stage.goTyped(this.to.value);
      this.to.value = "";
      this.to.blur();
    });
    const jump = ([name, kind, what, key]) =>
      h(
        "span",
        { class: "jumps" },
        name,
        button(`Previous ${what}`, "‹", () => stage.jump(kind, -1), `shift ${key}`),
        button(`Next ${what}`, "›", () => stage.jump(kind, 1), key),
      );
    this.element = h(
      "div",
      { class: "controls", role: "toolbar", "aria-label": "Playing" },
      button("First", "⇤", () => stage.go(0), "home"),
      button("Back", "‹", () => stage.go(stage.at - 1), "left"),
      this.play,
      button("On", "›", () => stage.go(stage.at + 1), "right"),
      button("Last", "⇥", () => stage.go(stage.run.last), "end"),
      h(
        "span",
        { class: "speed" },
        button("Slower", "−", () => stage.player.faster(-1), "-"),
        this.rate,
        button("Faster", "+", () => stage.player.faster(1), "+"),
      ),
      JUMPS.map(jump),
      this.to,
      this.follow,
    );
    this.playing(stage.player);
    this.following(false);
    this.live(false);
  }

  /** It plays, or has ceased to, or at another speed. */
  playing({ playing, speed }) {
    this.play.textContent = playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    say(this.rate, `${speed} a second`);
  }

  following(on) {
    this.follow.setAttribute("aria-pressed", String(on));
  }

  /** Whether there is anything to follow. */
  live(on) {
    this.follow.hidden = !on;
  }
}
