// Elements from data. Texts of stories become text nodes, never markup.

export const PRODUCT = document.body.dataset.product;
export const HAS_AGENTS = "agents" in document.body.dataset;
const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: h("button", {class: "main", onclick: f, "aria-label": "…"}, "words", otherElement).
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Replace the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(
    ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A message while something loads. */
export function waiting(words) {
  return h(
    "p",
    { class: "state", role: "status" },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    words,
  );
}

/** A message if there is nothing to show, and what to do about it. */
export function nothing(words, ...more) {
  return h("div", { class: "state empty" }, h("p", {}, words), ...more);
}

/** An error message with a button to try again. */
export function failure(error, again = null) {
  const button = again && h("button", { type: "button", onclick: again }, "Try again");
  return h(
    "div",
    { class: "state wrong", role: "alert" },
    h("p", {}, error.message || String(error)),
    button,
  );
}

/** Announce something to screen readers. */
export function announce(words) {
  const region = document.getElementById("announcements");
  region.textContent = "";
  setTimeout(() => {
    region.textContent = words;
  }, 50);
}

/** A short message that disappears after a few seconds. */
export function toast(words, kind = "") {
  const message = h(
    "div",
    { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" },
    words,
  );
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), kind === "bad" ? 9000 : 5000);
}

/** A form field with its label and help text. */
export function field(label, control, help = "", extra = {}) {
  const id = control.id || (control.id = `field-${Math.random().toString(36).slice(2)}`);
  const helpId = help ? `${id}-help` : null;
  if (helpId) control.setAttribute("aria-describedby", helpId);
  const words = help && h("p", { class: "help", id: helpId }, help);
  return h(
    "div",
    { class: `field ${extra.class || ""}` },
    h("label", { for: id }, label),
    control,
    words,
  );
}

/** A checkbox whose state is saved in this browser. */
export function toggle(label, key, onChange, standard = false) {
  const box = h("input", { type: "checkbox", checked: recall(key, String(standard)) === "true" });
  box.addEventListener("change", () => {
    remember(key, String(box.checked));
    onChange(box.checked);
  });
  return { box, element: h("label", { class: "toggle" }, box, h("span", {}, label)) };
}

export function select(options, chosen, onChange) {
  const control = h(
    "select",
    { onchange: () => onChange?.(control.value) },
    options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
  );
  return control;
}

export function recall(key, otherwise = "") {
  try {
    return localStorage.getItem(`page.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`page.${key}`, value);
  } catch {
    /* storage is disabled */
  }
}

export function pause(milliseconds, signal) {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}

/** A name under which the server keeps the copy of the game that this tab plays. */
export function newSession() {
  return Math.random().toString(36).slice(2);
}
