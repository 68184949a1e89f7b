// A story's text in paragraphs, with words marked where an agent says which matter.

import { h, show } from "./dom.js";
import { number } from "./format.js";

const MOST_MARKED = 14; // different words of a page: more would say nothing

/** Put a text into an element; `every` are [{start, end, weight}], by their places in the text. */
export function storyText(element, text, every = []) {
  const paragraphs = [];
  const marks = strongest(text, every);
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

/** The words that matter most, each wherever it stands. */
function strongest(text, marks) {
  const weights = new Map();
  const said = (mark) => text.slice(mark.start, mark.end).toLowerCase();
  for (const mark of marks) weights.set(said(mark), Math.max(Math.abs(mark.weight), weights.get(said(mark)) || 0));
  const kept = [...weights].sort((a, b) => b[1] - a[1]).slice(0, MOST_MARKED);
  const most = Math.max(1e-9, ...kept.map(([, weight]) => weight));
  const words = new Set(kept.map(([word]) => word));
  return marks.filter((mark) => words.has(said(mark))).map((mark) => ({ ...mark, most }));
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
