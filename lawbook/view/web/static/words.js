// Small words for people: numbers, times, actions.

export const number = (n) => n.toLocaleString("en-US");

export const count = (n, one, many) => `${number(n)} ${n === 1 ? one : (many ?? one + "s")}`;

export const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}%` : "–");

/** 1234567 as 1.2M. */
export function short(n) {
  for (const [size, letter] of [
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (Math.abs(n) >= size) return `${(n / size).toPrecision(n / size >= 100 ? 3 : 2)}${letter}`;
  }
  return Number.isInteger(n) ? String(n) : n.toPrecision(3);
}

export function seconds(n) {
  if (n < 10) return n < 1 ? `${n.toFixed(2)} s` : `${n.toFixed(1)} s`;
  const whole = Math.round(n);
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

export function moment(time) {
  const at = new Date(time * 1000);
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** [3] as `action 3`, [6, 10, 20] as `action 6 at column 10, row 20`. */
export function actionName(packed) {
  if (!packed) return "first sight";
  if (packed[0] === 0) return "reset";
  return packed.length > 1 ? `action ${packed[0]} at column ${packed[1]}, row ${packed[2]}` : `action ${packed[0]}`;
}

/** As short as it gets: 3, or 6@10,20. */
export const actionSign = (packed) => (packed.length > 1 ? `${packed[0]}@${packed[1]},${packed[2]}` : String(packed[0]));

export const STATES = {
  won: "good",
  playing: "live",
  paused: "quiet",
  budget: "bad",
  stuck: "bad",
  finished: "quiet",
  nondeterministic: "bad",
  in_doubt: "bad",
  broken: "bad",
};
