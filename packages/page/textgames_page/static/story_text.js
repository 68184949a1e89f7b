// The text of a page in paragraphs, with the words marked that matter to an agent.

import { h, show } from "./dom.js";
import { number } from "./format.js";

const MAX_MARKED = 14; // distinct words of a page

/** Show a text in an element; `words` is a list of {start, end, weight}. */
export function storyText(element, text, words = []) {
  const paragraphs = [];
  const marks = strongest(text, words);
  const lines = /[^\n]+/g;
  for (const line of text.matchAll(lines)) {
    const begin = line.index;
    const end = begin + line[0].length;
    const inside = marks.filter((mark) => mark.start >= begin && mark.end <= end);
    paragraphs.push(
      h(
        "p",
        {},
        splitAtMarks(
          text.slice(begin, end),
          inside.map((mark) => ({ ...mark, start: mark.start - begin, end: mark.end - begin })),
        ),
      ),
    );
  }
  show(
    element,
    paragraphs.length ? paragraphs : h("p", { class: "soft" }, "(This page has no text.)"),
  );
}

/** The words that matter most, with all of their occurrences. */
function strongest(text, marks) {
  const weights = new Map();
  const wordOf = (mark) => text.slice(mark.start, mark.end).toLowerCase();
  for (const mark of marks) {
    weights.set(wordOf(mark), Math.max(Math.abs(mark.weight), weights.get(wordOf(mark)) || 0));
  }
  const top = [...weights].sort((a, b) => b[1] - a[1]).slice(0, MAX_MARKED);
  const maxWeight = Math.max(1e-9, ...top.map(([, weight]) => weight));
  const words = new Set(top.map(([word]) => word));
  return marks.filter((mark) => words.has(wordOf(mark))).map((mark) => ({ ...mark, maxWeight }));
}

/** A text split at its marks. */
export function splitAtMarks(text, marks) {
  const parts = [];
  let position = 0;
  for (const mark of [...marks].sort((a, b) => a.start - b.start)) {
    if (mark.start < position) continue;
    parts.push(
      text.slice(position, mark.start),
      word(text.slice(mark.start, mark.end), mark.weight, mark.maxWeight),
    );
    position = mark.end;
  }
  return [...parts, text.slice(position)];
}

function word(words, weight, maxWeight) {
  const strength = Math.min(1, Math.abs(weight) / maxWeight);
  if (strength < 0.2) return words;
  const element = h(
    "mark",
    {
      class: weight > 0 ? "for" : "against",
      title: `${weight > 0 ? "for this action" : "against this action"}: Q ${weight > 0 ? "+" : "−"}${number(Math.abs(weight))}`,
    },
    words,
  );
  element.style.setProperty("--strength", `${Math.round(10 + 30 * strength)}%`);
  return element;
}
