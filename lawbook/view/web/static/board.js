// One board: a frame drawn cell for cell, and over it what differs, where a plan goes, what was clicked.

import { h, s, fill } from "./dom.js";

const BIG = 1200; // frames of up to so many cells are drawn with lines between the cells, and with faces

/** Colours as a canvas stores them, from the list of #rrggbb that a run's head brings. */
export function inks(colours) {
  return Uint32Array.from(colours, (text) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

export class Board {
  /** label: what it shows, for those who do not see it. */
  constructor(head, label, note = "") {
    this.head = head;
    this.inks = inks(head.colours);
    this.shape = null;
    this.frame = null;
    this.canvas = h("canvas", { role: "img", "aria-label": label });
    this.over = s("svg", { class: "over", "aria-hidden": "true", preserveAspectRatio: "none" });
    this.empty = h("p", { class: "empty" }, note);
    this.box = h("div", { class: "board" }, this.canvas, this.over, this.empty);
    this.show(null);
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  /** Draw a frame, or nothing with a word why. */
  show(frame, note = "") {
    if (note !== this.empty.textContent) this.empty.textContent = note;
    this.box.classList.toggle("bare", !frame);
    if (!frame || frame === this.frame) {
      this.frame = frame;
      return;
    }
    this.frame = frame;
    const { width, height, cells } = frame;
    if (this.shape !== `${width} ${height}`) {
      this.shape = `${width} ${height}`;
      this.canvas.width = width;
      this.canvas.height = height;
      this.context = this.canvas.getContext("2d", { alpha: false });
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.fit();
    }
    for (let k = 0; k < cells.length; k++) this.pixels[k] = this.inks[cells[k]];
    this.context.putImageData(this.image, 0, 0);
  }

  /** Cells are whole numbers of the screen's own pixels wherever there is room for one each: crisp at any size. */
  fit() {
    if (!this.frame) return;
    const { width, height } = this.frame;
    const room = Math.min(this.box.clientWidth / width, this.box.clientHeight / height) * devicePixelRatio;
    const scale = (room >= 1 ? Math.floor(room) : room) / devicePixelRatio;
    for (const layer of [this.canvas, this.over]) {
      layer.style.width = `${width * scale}px`;
      layer.style.height = `${height * scale}px`;
    }
  }

  /** What lies over the frame. wrong: mask of differing cells; open: of cells that nothing is claimed of; way: points [row, column]; clicks: [column, row], the first one now;
   * regions: rectangles; mood: 0 running, 1 completed, 2 over, for colours that have faces. */
  overlay({ wrong = null, open = null, way = [], clicks = [], regions = [], mood = 0 } = {}) {
    const parts = [];
    if (this.frame && this.frame.width * this.frame.height <= BIG) parts.push(grid(this.frame), ...this.faces(mood));
    if (open && this.frame && open.length === this.frame.width * this.frame.height) {
      const d = hatch(open, this.frame.width);
      parts.push(s("path", { class: "open under", d }), s("path", { class: "open", d }));
    }
    if (wrong) parts.push(s("path", { class: "wrong", d: outline(wrong, this.frame.width) }));
    for (const { top, left, bottom, right } of regions) {
      parts.push(s("path", { class: "region", d: `M${left} ${top}H${right + 1}V${bottom + 1}H${left}z` }));
    }
    if (way.length > 1) {
      const points = way.map(([row, column]) => `${column},${row}`).join(" ");
      const [row, column] = way[way.length - 1];
      parts.push(s("polyline", { class: "under", points }), s("polyline", { class: "way", points }));
      parts.push(
        s("path", { class: "under end", d: `M${column} ${row}h0` }),
        s("path", { class: "way end", d: `M${column} ${row}h0` }),
      );
    }
    clicks.forEach(([column, row], k) => {
      const d = `M${column - 0.6} ${row + 0.5}h2.2M${column + 0.5} ${row - 0.6}v2.2`;
      parts.push(s("path", { class: k ? "click later" : "click", d }));
    });
    const key = parts.length ? null : "none";
    if (key && this.overlaid === key) return;
    this.overlaid = key;
    fill(this.over, parts);
  }

  faces(mood) {
    const { width, height, cells } = this.frame;
    const texts = [];
    for (let k = 0; k < width * height; k++) {
      const face = this.head.faces[cells[k]]?.[mood];
      if (!face) continue;
      const light = this.head.colours[cells[k]];
      const dark =
        [1, 3, 5].reduce((sum, at, n) => sum + parseInt(light.slice(at, at + 2), 16) * [0.299, 0.587, 0.114][n], 0) < 140;
      const [x, y] = [(k % width) + 0.5, Math.floor(k / width) + 0.64];
      texts.push(s("text", { x, y, class: dark ? "face light" : "face", "font-size": 0.42, "text-anchor": "middle" }, face));
    }
    return texts;
  }
}

/** Where two frames differ, as a mask, or null where they do not or cannot be compared. open: where nothing is claimed. */
export function difference(one, two, open = null) {
  if (!one || !two || one.width !== two.width || one.height !== two.height) return null;
  let some = false;
  const mask = new Uint8Array(one.cells.length);
  for (let k = 0; k < mask.length; k++) if (one.cells[k] !== two.cells[k] && !open?.[k]) some = mask[k] = 1;
  return some ? mask : null;
}

function grid({ width, height }) {
  let d = "";
  for (let row = 1; row < height; row++) d += `M0 ${row}h${width}`;
  for (let column = 1; column < width; column++) d += `M${column} 0v${height}`;
  return s("path", { class: "grid", d });
}

/** A diagonal in every cell of a mask, three in large cells: hatching, whatever the colours below. */
function hatch(mask, width) {
  let d = "";
  for (let k = 0; k < mask.length; k++) {
    if (!mask[k]) continue;
    const [x, y] = [k % width, Math.floor(k / width)];
    d += `M${x} ${y + 1}l1 -1`;
    if (mask.length <= BIG) d += `M${x} ${y + 0.5}l.5 -.5M${x + 0.5} ${y + 1}l.5 -.5`;
  }
  return d;
}

/** An SVG path of rectangles that cover a mask: runs of a row, grown downwards while the rows below have the same. */
function outline(mask, width) {
  const left = mask.slice();
  let d = "";
  for (let k = 0; k < left.length; k++) {
    if (!left[k]) continue;
    const column = k % width;
    let wide = 1;
    while (column + wide < width && left[k + wide]) wide++;
    let high = 1;
    while (k + high * width < left.length && left.subarray(k + high * width, k + high * width + wide).every(Boolean)) high++;
    for (let row = 0; row < high; row++) left.fill(0, k + row * width, k + row * width + wide);
    d += `M${column} ${Math.floor(k / width)}h${wide}v${high}h${-wide}z`;
  }
  return d;
}
