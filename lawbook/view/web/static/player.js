// Playing: walks through every action, and through every frame of its animation, at a given speed.

export const SPEEDS = [1, 2, 4, 8, 16, 30, 60];

export class Player {
  /** walk: called for every frame that is due; false at the end. weight: how long the present frame stays, 1 for a step. */
  constructor(walk, weight, changed) {
    this.walk = walk;
    this.weight = weight;
    this.changed = changed;
    this.speed = 8;
    this.playing = false;
    this.due = 0;
  }

  toggle(on = !this.playing) {
    if (on === this.playing) return;
    this.playing = on;
    this.changed();
    if (!on) return;
    this.due = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  faster(by) {
    const at = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))];
    this.changed();
  }

  tick(now) {
    if (!this.playing) return;
    if (now >= this.due) {
      // Late by more than a few frames: what was missed is not made up for, it would only look like a jump.
      this.due = Math.max(this.due, now - 50) + (1000 / this.speed) * this.weight();
      if (this.walk() === false) return this.toggle(false);
    }
    requestAnimationFrame((then) => this.tick(then));
  }
}
