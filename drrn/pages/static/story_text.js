// A story's text in paragraphs, with words marked where an agent says which matter.

import { h, show } from "./dom.js";
import { number } from "./format.js";

const MOST_MARKED = 16; // words of a page: more would say nothing

/** Put a text into an element; `marks` are [{start, end, weight}], by their places in the text. */
export function storyText(element, text, every = []) {
  const paragraphs = [];
  const most = Math.max(...every.map((mark) => Math.abs(mark.weight)), 1e-9);
  const marks = [...every]
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
    .slice(0, MOST_MARKED)
    .map((mark) => ({ ...mark, most }));
  const lines = /[^\n]+/g;
  for (let found = lines.exec(text); found; found = lines.exec(text)) {
    const begin = found.index;
    const end = begin + found[0].length;
    const inside = marks.filter((mark) => mark.start >= begin && mark.end <= end);
    paragraphs.push(
      h(
        "p",
        {},
        marked(
          text.slice(begin, end),
          inside.map((mark) => ({ ...mark, start: mark.start - begin, end: mark.end - begin })),
        ),
      ),
    );
  }
  show(element, paragraphs.length ? paragraphs : h("p", { class: "soft" }, "(This page has no words.)"));
}

/** A text cut at its marks. */
export function marked(text, marks) {
  const parts = [];
  let at = 0;
  for (const mark of [...marks].sort((a, b) => a.start - b.start)) {
    if (mark.start < at) continue;
    parts.push(text.slice(at, mark.start), word(text.slice(mark.start, mark.end), mark.weight, mark.most));
    at = mark.end;
  }
  return [...parts, text.slice(at)];
}

function word(words, weight, most) {
  const strength = Math.min(1, Math.abs(weight) / most);
  if (strength < 0.2) return words;
  const element = h(
    "mark",
    {
      class: weight > 0 ? "for" : "against",
      title: `${weight > 0 ? "speaks for it" : "speaks against it"}: Q ${weight > 0 ? "+" : "−"}${number(Math.abs(weight))}`,
    },
    words,
  );
  element.style.setProperty("--strength", `${Math.round(10 + 30 * strength)}%`);
  return element;
}
