// The map in the author's own layout: boxes where Twine has their passages, straight lines.

import { shorten } from "./chart.js";
import { s } from "./dom.js";

const WIDTH = 204;
const HEIGHT = 40;
const WIDE = 2.2; // per pixel of Twine, whose boxes are 100 wide
const SHIFT = 24; // between boxes at the same place
const BELOW = 70; // from a passage to one without a place
const LETTERS = 30;

/** Whether the author placed most passages on a map. */
export function hasLayout({ pages }) {
  const places = pages.filter((page) => page.position).map((page) => String(page.position));
  return new Set(places).size > 1 && places.length * 2 > pages.length;
}

/** A drawing with the classes, numbers and tooltips of another one. */
export function drawByAuthor(drawing, { pages, links }) {
  const places = placesOf(pages, links);
  const xs = places.map(([x]) => x);
  const ys = places.map(([, y]) => y);
  const [left, top] = [Math.min(...xs) - 24, Math.min(...ys) - 24];
  const size = [Math.max(...xs) + WIDTH + 24 - left, Math.max(...ys) + HEIGHT + 24 - top];
  const boxes = pages.map(({ page, label }) => {
    const group = drawing.querySelector(`[data-number="${page}"]`);
    const [x, y] = places[page];
    return s(
      "g",
      { class: group?.getAttribute("class") ?? "page", "data-number": page, "data-page": label },
      s("title", {}, group?.querySelector("title")?.textContent ?? label),
      s("rect", { class: "frame", x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
      s("text", { class: "name", x: x + 9, y: y + 24 }, shorten(label, LETTERS)),
    );
  });
  const lines = links
    .filter((link) => link.from !== link.to)
    .map((link) => {
      const isTaken = pages[link.from].reached && pages[link.to].reached;
      return s("path", {
        class: isTaken ? "edge on" : "edge on untaken",
        d: line(places[link.from], places[link.to]),
        "stroke-width": 1.4,
        "marker-end": "url(#story-map-on)",
        "data-from": link.from,
        "data-to": link.to,
      });
    });
  const box = [left, top, ...size].map(Math.round).join(" ");
  const marks = drawing.querySelector("defs").cloneNode(true);
  return s("svg", { class: "story-map", viewBox: box, role: "group" }, marks, lines, boxes);
}

function placesOf(pages, links) {
  const taken = new Set();
  const places = [];
  const place = (page, x, y) => {
    while (taken.has(`${x} ${y}`)) [x, y] = [x + SHIFT, y + SHIFT];
    taken.add(`${x} ${y}`);
    places[page] = [x, y];
  };
  for (const { page, position } of pages) {
    if (position) place(page, WIDE * position[0], position[1]);
  }
  for (const { page, position } of pages) {
    const origin = links.find((link) => link.to === page && places[link.from]);
    const [x, y] = origin ? places[origin.from] : [0, 0];
    if (!position) place(page, x, y + BELOW);
  }
  return places;
}

/** A line from the middle of a box to the edge of another one. */
function line([x, y], [toX, toY]) {
  const [across, down] = [toX - x, toY - y];
  const part = 1 - 1 / Math.max(Math.abs(across) / (WIDTH / 2), Math.abs(down) / (HEIGHT / 2), 1);
  const [startX, startY] = [x + WIDTH / 2, y + HEIGHT / 2];
  return `M${startX} ${startY}L${startX + across * part} ${startY + down * part}`;
}
