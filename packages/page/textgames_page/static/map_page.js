// A page of the map: its text, the links to and from it, and how games end from there.

import { get, isAborted, part } from "./api.js";
import { failure, h, nothing, show, waiting } from "./dom.js";
import { number, plural, reward, share } from "./format.js";

// Policies: the field of the findings, the field of endings with their probabilities, the label.
const PLAYERS = [
  ["random", "probability", "random"],
  ["best", "best", "best"],
  ["player", "player", "agent"],
];
const MOST_ENDINGS = 12;

/**
 * Fill the panel; `go(number)` shows another page, `buttons(path)` are what can be
 * done with it (a page that was never reached has no path). The agent's odds take longest and are
 * added later.
 */
export async function showPage(panel, test, map, number, run, go, buttons, signal) {
  show(
    panel,
    h("div", { class: "panel" }, waiting("Loading the page … The first one may take a while.")),
  );
  const address = `${test}/pages/${number}`;
  try {
    const page = await get(address, signal);
    if (!page.findings) {
      show(panel, details(page, map, number, null, go, buttons));
      return;
    }
    const table = h("div", {}, odds(page.findings, Boolean(run)));
    show(panel, details(page, map, number, table, go, buttons));
    if (run) show(table, odds((await get(`${address}?run=${part(run)}`, signal)).findings));
  } catch (error) {
    const again = () => showPage(panel, test, map, number, run, go, buttons, signal);
    if (!isAborted(error)) show(panel, h("div", { class: "panel" }, failure(error, again)));
  }
}

export function noPage(noun) {
  return h(
    "div",
    { class: "panel" },
    nothing(
      `Click a ${noun} on the map, or search for it, to read it and to see its links and how the story ends from there.`,
    ),
  );
}

function details(page, map, number, table, go, buttons) {
  const [first, ...others] = page.texts;
  const before = map.links.filter((link) => link.to === number).map((link) =>
    [link.from, link.actions],
  );
  const after = map.links.filter((link) => link.from === number).map((link) =>
    [link.to, link.actions],
  );
  return h(
    "div",
    { class: "panel page-details" },
    h("h3", { tabindex: "-1" }, map.pages[number].label),
    map.pages[number].flaw ? h("p", { class: "flaw" }, map.pages[number].flaw) : null,
    buttons(page.path),
    h(
      "div",
      { class: "page-text" },
      first ? paragraphs(first) : h("p", { class: "soft" }, "(No text.)"),
    ),
    others.length
      ? h(
          "details",
          {},
          h("summary", {}, `${plural(others.length, "more text")} of this page`),
          others.map((text) => h("div", { class: "page-text other" }, paragraphs(text))),
        )
      : null,
    table,
    shortestPath(page.path),
    neighbours("Links from", before, map, go),
    neighbours("Links to", after, map, go),
  );
}

function paragraphs(text) {
  return text
    .split(/\n+/)
    .filter((line) => line.trim())
    .map((line) => h("p", {}, line));
}

function shortestPath(path) {
  if (!path) return null;
  if (!path.actions.length) return h("p", { class: "small soft" }, "The story starts here.");
  const steps = path.actions.map((action, index) => {
    const chance = path.chances?.[index] ?? 1;
    const typed = path.typed?.[index];
    return h(
      "li",
      {},
      typed ? `(type “${typed}”) ` : null,
      action,
      chance < 1 - 1e-12 ? [" ", h("span", { class: "tag" }, `by chance, ${share(chance)}`)] : null,
    );
  });
  return h(
    "details",
    {},
    h("summary", {}, `Shortest path: ${plural(steps.length, "click")}`),
    h("ol", {}, steps),
  );
}

/** The pages at the other ends of links: pairs of a number and actions, the most used first. */
function neighbours(title, links, map, go) {
  if (!links.length) return null;
  return h(
    "details",
    { open: links.length <= 8 },
    h("summary", {}, `${title}: ${links.length}`),
    h(
      "ul",
      { class: "neighbours" },
      links.map(([other, actions]) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "quiet", onclick: () => go(other) },
            map.pages[other].label,
          ),
          actions.length
            ? h("span", { class: "small soft" }, `“${actions.slice(0, 3).join("”, “")}”`)
            : null,
        ),
      ),
    ),
  );
}

/** Endings as rows, policies as columns; the agent's column is empty until its numbers arrive. */
function odds(findings, isPending = false) {
  const players = PLAYERS.filter(([name]) => findings[name]);
  if (!players.length)
    return h(
      "p",
      { class: "small soft" },
      "The odds from here are unknown: too few games reach this page.",
    );
  const highest = (ending) => Math.max(...players.map(([, share]) => ending[share]?.mean ?? 0));
  const endings = findings.endings.filter((ending) => highest(ending) > 0).sort((a, b) =>
    highest(b) - highest(a),
  );
  const hasRewards = endings.some((ending) => ending.reward);
  const cells = (content) =>
    [...players.map((player) => h("td", {}, content(player))), isPending ? h("td", {}, "…") : null];
  const line = (words, content, kind = null) =>
    h("tr", { class: kind }, h("th", { scope: "row" }, words), cells(content));
  const heads = ["Ending", ...players.map(([, , label]) => label), ...(isPending ? ["agent"] : [])];
  const unfinished = ([name]) => findings[name].unfinished?.mean ?? 0;
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "odds" },
      h(
        "caption",
        {},
        `How it ends from here (${findings.exact ? "exact" : byGames(findings, players)})`,
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((words) => h("th", { scope: "col" }, words)),
        ),
      ),
      h(
        "tbody",
        {},
        hasRewards
          ? line("final reward", ([name]) => scoreOf(findings[name].final_reward), "scores")
          : null,
        endings
          .slice(0, MOST_ENDINGS)
          .map((ending) =>
            line(hasRewards
              ? `${ending.name} (${reward(ending.reward)})`
              : ending.name, ([, field]) =>
              share(ending[field]?.mean ?? 0),
            ),
          ),
        players.some((player) => unfinished(player) > 0)
          ? line("never ends", (player) => share(unfinished(player)))
          : null,
      ),
    ),
    endings.length > MOST_ENDINGS
      ? h("p", { class: "small soft" }, `… and ${endings.length - MOST_ENDINGS} more`)
      : null,
  );
}

/** How many games the odds were estimated from. */
function byGames(findings, players) {
  return `estimated from ${Math.min(...players.map(([name]) => findings[name].games))} games`;
}

function scoreOf({ mean, error }) {
  return number(mean) + (error ? ` ± ${number(error)}` : "");
}
