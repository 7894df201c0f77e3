// Elements from plain data. Text is always text: nothing here, or anywhere else in this page, reads HTML out of a string.

function dress(element, looks, children) {
  for (const [name, value] of Object.entries(looks ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("p", {class: "dim", onclick: f}, "text", child). */
export function h(tag, looks, ...children) {
  return dress(document.createElement(tag), looks, children);
}

/** The same in SVG. */
export function s(tag, looks, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), looks, children);
}

/** Put these in place of whatever is in there. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Change a text only where it differs, so that nothing is laid out anew for nothing. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** For those who do not see the page: read out what has just happened. */
export function announce(text) {
  say(document.getElementById("said"), text);
}
