// What is held of one run: windows of steps and the frames they need, fetched when they are looked at, and let go of again.

import { source } from "./source.js";

const CHUNK = 32;
const HELD_CHUNKS = 160;
const HELD_FRAMES = 8000;
const AT_ONCE = 2;

export class RunRecord {
  constructor(name) {
    this.name = name;
    this.head = null;
    this.overview = null;
    this.arrived = () => {};
    this.failed = () => {};
    this.chunks = new Map(); // chunk -> its steps, or a promise of them
    this.frames = new Map(); // id -> {width, height, cells}
    this.kept = new Map(); // path -> promise: texts, plans, numbers
    this.keys = []; // [step, frame id], a few over the whole run
    this.wanted = null;
    this.busy = 0;
  }

  /** Steps known to exist; the last one's number. */
  get last() {
    return this.overview ? this.overview.steps : 0;
  }

  async readHead() {
    this.head = await source.head(this.name);
  }

  async readOverview() {
    this.overview = await source.overview(this.name);
  }

  /** Frames of a few steps over the whole run, so that moving through it fast shows something at once. */
  async readStrip() {
    if (this.last < 2 * CHUNK) return;
    const { told, frames } = await source.strip(this.name);
    this.keepFrames(frames);
    this.keys = told;
  }

  /** A frame that is near enough to stand for this step while somebody hurries past it, or null. */
  passing(number) {
    if (this.keys.length < 2) return null;
    const every = this.keys[1][0];
    const key = this.keys[Math.round(number / every)];
    return key ? this.frame(key[1]) : null;
  }

  /** The run has grown: what was not complete is read anew when it is looked at. */
  forgetEnd(before) {
    for (const chunk of this.chunks.keys()) if ((chunk + 1) * CHUNK > before) this.chunks.delete(chunk);
    this.kept.clear();
  }

  step(number) {
    const chunk = this.chunks.get(Math.floor(number / CHUNK));
    return Array.isArray(chunk) ? (chunk[number % CHUNK] ?? null) : null;
  }

  frame(id) {
    return this.frames.get(id) ?? null;
  }

  /** Asked for, and nowhere to be had: a report holds only so much. */
  lost(id) {
    return source.alone !== null && this.frames.get(id) === null;
  }

  /** See to it that this step and its frames come, and once somebody rests there (`around`), its neighbours. While others are on
   * their way only the last wish counts. */
  want(number, around = false) {
    const chunk = Math.floor(number / CHUNK);
    const near = around ? [chunk, chunk + 1, chunk - 1] : [chunk];
    this.wanted = near.filter((one) => one >= 0 && one * CHUNK <= Math.max(this.last, number));
    this.pump();
  }

  pump() {
    while (this.busy < AT_ONCE && this.wanted?.length) {
      const chunk = this.wanted.shift();
      if (!this.chunks.has(chunk)) this.load(chunk);
    }
  }

  async load(chunk) {
    const [first, last] = [chunk * CHUNK, chunk * CHUNK + CHUNK - 1];
    this.busy += 1;
    const promise = source.window(this.name, first, last);
    this.chunks.set(chunk, promise);
    try {
      const { told: steps, frames } = await promise;
      this.keepFrames(frames);
      if (this.chunks.get(chunk) === promise) this.chunks.set(chunk, steps);
      for (const old of this.chunks.keys()) {
        if (this.chunks.size <= HELD_CHUNKS) break;
        if (old !== chunk && Array.isArray(this.chunks.get(old))) this.chunks.delete(old);
      }
    } catch (error) {
      if (this.chunks.get(chunk) === promise) this.chunks.delete(chunk);
      this.wanted = null;
      this.failed(error);
    } finally {
      this.busy -= 1;
      this.arrived();
      this.pump();
    }
  }

  /** Frames that no window brought: those of an animation, or of a window let go of. */
  async wantFrames(ids) {
    const missing = ids.filter((id) => !this.frames.has(id));
    missing.forEach((id) => this.frames.set(id, null)); // null, for good, where it is nowhere to be had
    for (let k = 0; k < missing.length; k += CHUNK) {
      const some = missing.slice(k, k + CHUNK);
      try {
        this.keepFrames(await source.frames(this.name, some));
      } catch (error) {
        some.forEach((id) => this.frames.delete(id));
        this.failed(error);
        return;
      }
    }
    if (missing.length) this.arrived();
  }

  keepFrames(pairs) {
    for (const [id, frame] of pairs) {
      this.frames.delete(id); // a new entry goes to the end: the oldest are let go of first
      this.frames.set(id, frame);
    }
    for (const id of this.frames.keys()) {
      if (this.frames.size <= HELD_FRAMES) break;
      this.frames.delete(id);
    }
  }

  once(key, ask) {
    if (!this.kept.has(key)) {
      const promise = ask();
      promise.catch(() => this.kept.delete(key));
      this.kept.set(key, promise);
    }
    return this.kept.get(key);
  }

  plan(number) {
    return this.once(`plan ${number}`, () => source.plan(this.name, number));
  }

  proposals() {
    return this.once("proposals", () => source.proposals(this.name));
  }

  proposal(number) {
    return this.once(`proposal ${number}`, () => source.proposal(this.name, number));
  }

  members() {
    return this.once("members", () => source.members(this.name));
  }

  draws(before) {
    return this.once(`draws ${before}`, () => source.draws(this.name, before));
  }

  series() {
    return this.once("series", () => source.series(this.name));
  }
}
