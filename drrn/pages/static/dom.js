// Elements made from data: texts of stories come in as text nodes and never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("button", {class: "main", onclick: f, "aria-label": "…"}, "words", otherElement). */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for a drawing. */
export function s(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put these in place of what an element holds. */
export function show(element, ...children) {
  element.replaceChildren(
    ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Words while something is awaited. */
export function waiting(words) {
  return h("p", { class: "state", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), words);
}

/** Words where there is nothing yet, and what to do about it. */
export function nothing(words, ...more) {
  return h("div", { class: "state empty" }, h("p", {}, words), ...more);
}

/** Words where something went wrong, and a button to try again. */
export function failure(error, again = null) {
  const button = again && h("button", { type: "button", onclick: again }, "Try again");
  return h("div", { class: "state wrong", role: "alert" }, h("p", {}, error.message || String(error)), button);
}

/** Say something to those who listen to the page. */
export function announce(words) {
  const place = document.getElementById("announcements");
  place.textContent = "";
  setTimeout(() => {
    place.textContent = words;
  }, 50);
}

/** A short message at the foot of the page; it goes by itself. */
export function toast(words, kind = "") {
  const message = h("div", { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" }, words);
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), kind === "bad" ? 9000 : 5000);
}

/** A labelled field of a form. */
export function field(label, control, help = "", extra = {}) {
  const id = control.id || (control.id = `field-${Math.random().toString(36).slice(2)}`);
  const described = help ? `${id}-help` : null;
  if (described) control.setAttribute("aria-describedby", described);
  const words = help && h("p", { class: "help", id: described }, help);
  return h("div", { class: `field ${extra.class || ""}` }, h("label", { for: id }, label), control, words);
}

/** A switch that is remembered in this browser. */
export function toggle(label, key, changed, standard = false) {
  const box = h("input", { type: "checkbox", checked: remembered(key, String(standard)) === "true" });
  box.addEventListener("change", () => {
    remember(key, String(box.checked));
    changed(box.checked);
  });
  return { box, element: h("label", { class: "toggle" }, box, h("span", {}, label)) };
}

export function select(options, chosen, changed) {
  const control = h(
    "select",
    { onchange: () => changed?.(control.value) },
    options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
  );
  return control;
}

export function remembered(key, otherwise = "") {
  try {
    return localStorage.getItem(`drrn.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`drrn.${key}`, value);
  } catch {
    /* a browser that keeps nothing */
  }
}

export function pause(milliseconds, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });
}
