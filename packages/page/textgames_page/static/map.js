// The map of a story: zoom, pan, search, and a click on a page to read it.

import { h, show } from "./dom.js";

const MIN_WIDTH = 90; // of the visible part, in units of the drawing
const STEP = 1.35; // factor of one zoom step
const MAX_RESULTS = 40;
const CONTEXT = 30; // characters before and after a match
const FAR = 0.35; // below this scale the texts of links are unreadable

/** The map in a scrollable box; `onChoose(number)` is called for a page that is clicked. */
export class StoryMapView {
  constructor(svgText, pages, noun, onChoose) {
    Object.assign(this, { pages, noun, onChoose, pointers: new Map(), dragDistance: 0 });
    this.texts = new Map(pages.map((page) => [page, oneLine(page.text).toLowerCase()]));
    this.box = h("div", {
      class: "map-view",
      tabindex: "0",
      role: "application",
      "aria-label": `Map. Arrow keys move it, plus and minus zoom, 0 shows the whole map. To choose a ${noun}, use the search above.`,
    });
    const svgDocument = new DOMParser().parseFromString(svgText, "image/svg+xml");
    this.drawing = document.importNode(svgDocument.documentElement, true);
    this.insert(this.drawing);
    this.element = h("div", { class: "map" }, this.tools(), this.box);
    this.listen();
    this.watch = new ResizeObserver(() => {
      if (!this.isPlaced && this.box.clientWidth) this.begin();
      else this.draw();
    });
    this.watch.observe(this.box);
  }

  /** Show a drawing. */
  insert(svg) {
    this.svg = svg;
    this.boxes ??= new Map(); // of drawings, before they are zoomed
    if (!this.boxes.has(svg)) this.boxes.set(svg, svg.getAttribute("viewBox").split(" ").map(Number));
    const [x, y, width, height] = this.boxes.get(svg);
    this.whole = { x, y, width, height };
    this.view = { ...this.whole };
    for (const name of ["width", "height"]) this.svg.removeAttribute(name);
    this.groups = new Map(
      [...this.svg.querySelectorAll(".page")].map((group) => [group.dataset.number, group]),
    );
    for (const link of this.svg.querySelectorAll("a, .page")) link.setAttribute("tabindex", "-1");
    show(this.box, this.svg);
    if (this.isPlaced) this.begin();
  }

  tools() {
    this.search = h("input", {
      type: "search",
      placeholder: `Find a ${this.noun} by name or text …`,
      "aria-label": `Find a ${this.noun}`,
      autocomplete: "off",
      oninput: () => this.find(),
      onkeydown: (event) => {
        if (event.key === "Enter") {
          event.preventDefault();
          this.take(this.matches[0]);
        }
      },
    });
    this.results = h("ul", { class: "map-results", "aria-label": "Search results" });
    const button = (words, label, act) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, words);
    return h(
      "div",
      { class: "map-tools" },
      h("div", { class: "map-search" }, this.search, this.results),
      h(
        "div",
        { class: "row" },
        button("+", "Zoom in", () => this.zoom(1 / STEP)),
        button("−", "Zoom out", () => this.zoom(STEP)),
        button("Whole map", "Show the whole map", () => this.fit()),
        document.fullscreenEnabled ? this.fullScreenButton() : null,
      ),
    );
  }

  /** Shows the map with its panel on the full screen, or as before. */
  fullScreenButton() {
    const words = () => (document.fullscreenElement ? "Leave full screen" : "Full screen");
    const change = () => {
      if (document.fullscreenElement) return document.exitFullscreen();
      const stage = this.element.parentElement; // with the panel
      stage.onfullscreenchange = () => show(button, words());
      return stage.requestFullscreen();
    };
    const button = h("button", { type: "button", onclick: change }, words());
    return button;
  }

  /** Search pages by name, then by text. */
  find() {
    const query = oneLine(this.search.value).toLowerCase();
    const inName = (page) => page.label.toLowerCase().includes(query);
    const byName = query ? this.pages.filter(inName) : [];
    const byText = query
      ? this.pages.filter((page) => !inName(page) && this.texts.get(page).includes(query))
      : [];
    this.matches = [...byName, ...byText];
    for (const group of this.svg.querySelectorAll(".page.match")) group.classList.remove("match");
    this.svg.classList.toggle("searching", this.matches.length > 0);
    for (const page of this.matches) this.group(page.page)?.classList.add("match");
    const rows = this.matches
      .slice(0, MAX_RESULTS)
      .map((page, index) => this.row(page, index < byName.length ? "" : query));
    const more = this.matches.length - rows.length;
    if (more > 0) rows.push(h("li", { class: "small soft" }, `… and ${more} more`));
    if (query && !rows.length) {
      rows.push(h("li", { class: "small soft" }, `No ${this.noun} has this name or text.`));
    }
    show(this.results, rows);
  }

  /** A search result; a match in the text is shown with its context. */
  row(page, query) {
    const at = query ? this.texts.get(page).indexOf(query) : 0;
    const from = Math.max(0, at - CONTEXT);
    const to = at + query.length + CONTEXT;
    const text = oneLine(page.text);
    const context = `${from > 0 ? "… " : ""}${text.slice(from, to)}${to < text.length ? " …" : ""}`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => this.take(page) },
        h("span", {}, page.label, query ? h("span", { class: "small soft" }, context) : null),
        page.ending ? h("span", { class: "tag" }, "ending") : null,
      ),
    );
  }

  take(page) {
    if (!page) return;
    this.search.value = "";
    this.find();
    this.go(page.page);
    this.onChoose(page.page);
  }

  group(number) {
    return this.groups.get(String(number));
  }

  /** Centre a page and highlight it. */
  go(number) {
    this.mark(number);
    const group = this.group(number);
    if (!group) return;
    const box = this.inDrawing(group);
    const width = Math.min(this.view.width, Math.max(700, this.box.clientWidth));
    this.look(box.x + box.width / 2, box.y + box.height / 2, width);
  }

  mark(number) {
    for (const group of this.svg.querySelectorAll(".page.chosen, .edge.chosen")) {
      group.classList.remove("chosen");
    }
    this.group(number)?.classList.add("chosen");
    for (const edge of this.svg.querySelectorAll(
      `.edge[data-from="${number}"], .edge[data-to="${number}"]`,
    ))
      edge.classList.add("chosen");
  }

  /** The bounding box of an element, in units of the drawing. */
  inDrawing(element) {
    const box = element.getBBox();
    const matrix = this.svg.getScreenCTM().inverse().multiply(element.getScreenCTM());
    const corner = new DOMPoint(box.x, box.y).matrixTransform(matrix);
    return { x: corner.x, y: corner.y, width: box.width, height: box.height };
  }

  begin() {
    this.isPlaced = true;
    this.fit();
    const scale = this.box.clientWidth / this.view.width;
    const start = this.svg.querySelector(".page.start") || this.svg.querySelector(".page");
    if (scale >= 0.85 || !start) return; // otherwise texts are too small to read
    const box = this.inDrawing(start);
    const width = this.box.clientWidth;
    this.look(
      Math.max(box.x + width * 0.42, this.whole.x + width / 2),
      box.y + box.height / 2,
      width,
    );
  }

  fit() {
    this.view = { ...this.whole };
    this.draw();
  }

  /** Show a part of the drawing of this width, around a point. */
  look(x, y, width) {
    const ratio = this.box.clientHeight / Math.max(1, this.box.clientWidth);
    this.view = { x: x - width / 2, y: y - (width * ratio) / 2, width, height: width * ratio };
    this.draw();
  }

  zoom(factor, fixedPoint = null) {
    const { x, y, width, height } = this.view;
    const wide = Math.min(
      Math.max(width * factor, MIN_WIDTH),
      Math.max(this.whole.width, this.whole.height) * 2.5,
    );
    const scale = wide / width;
    const middle = fixedPoint || { x: x + width / 2, y: y + height / 2 };
    this.view = {
      x: middle.x - (middle.x - x) * scale,
      y: middle.y - (middle.y - y) * scale,
      width: wide,
      height: height * scale,
    };
    this.draw();
  }

  move(across, down) {
    this.view.x = clamp(
      this.view.x + across,
      this.whole.x - this.view.width * 0.8,
      this.whole.x + this.whole.width - this.view.width * 0.2,
    );
    this.view.y = clamp(
      this.view.y + down,
      this.whole.y - this.view.height * 0.8,
      this.whole.y + this.whole.height - this.view.height * 0.2,
    );
    this.draw();
  }

  draw() {
    const { x, y, width, height } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    this.svg.classList.toggle("far", this.box.clientWidth / width < FAR);
  }

  point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(
      this.svg.getScreenCTM().inverse(),
    );
  }

  listen() {
    this.box.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    this.box.addEventListener("pointermove", (event) => this.onPointerMove(event));
    for (const name of ["pointerup", "pointercancel"]) {
      this.box.addEventListener(name, (event) => this.onPointerUp(event));
    }
    this.box.addEventListener("click", (event) => this.onClick(event));
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.box.addEventListener(
      "wheel",
      (event) => {
        // Without focus, the wheel scrolls the page.
        if (!event.ctrlKey && document.activeElement !== this.box) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? STEP : 1 / STEP, this.point(event));
      },
      { passive: false },
    );
  }

  onPointerDown(event) {
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 1) this.dragDistance = 0;
  }

  /** One finger moves the map, two fingers zoom. */
  onPointerMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const unit = 1 / this.svg.getScreenCTM().a;
    const others = [...this.pointers]
      .filter(([id]) => id !== event.pointerId)
      .map(([, point]) => point);
    if (others.length === 1) {
      const far = (point) => Math.hypot(point.x - others[0].x, point.y - others[0].y) || 1;
      this.zoom(
        far(before) / far(now),
        this.point({ clientX: (now.x + others[0].x) / 2, clientY: (now.y + others[0].y) / 2 }),
      );
    } else {
      this.move((before.x - now.x) * unit, (before.y - now.y) * unit);
    }
    this.dragDistance += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (this.dragDistance > 6) this.box.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, now);
  }

  onPointerUp(event) {
    this.pointers.delete(event.pointerId);
  }

  onClick(event) {
    const link = event.target.closest("a");
    if (link) event.preventDefault(); // the part after # names the view
    if (this.dragDistance > 6) return;
    const target = link?.getAttribute("href")?.match(/^#page-(.+)$/)?.[1];
    const number = target ?? event.target.closest(".page")?.dataset.number;
    if (number === undefined) return;
    if (target === undefined) this.mark(number);
    else this.go(number);
    this.onChoose(Number(number));
  }

  onKey(event) {
    const step = this.view.width / 8;
    const act = {
      ArrowLeft: () => this.move(-step, 0),
      ArrowRight: () => this.move(step, 0),
      ArrowUp: () => this.move(0, -step),
      ArrowDown: () => this.move(0, step),
      "+": () => this.zoom(1 / STEP),
      "=": () => this.zoom(1 / STEP),
      "-": () => this.zoom(STEP),
      0: () => this.fit(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high));
}

function oneLine(text) {
  return (text || "").split(/\s+/).join(" ").trim();
}
