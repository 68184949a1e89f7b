// A page of the map: its text, the links to and from it, and how games end from there.

import { get, isAborted, part } from "./api.js";
import { failure, h, nothing, show, waiting } from "./dom.js";
import { counted, number, reward, share } from "./format.js";

const PLAYERS = [
  ["random", "random"],
  ["best", "best"],
  ["agent", "agent"],
];
const MOST_ENDINGS = 12;

/** Fill the panel; `go(number)` shows another page. The agent's odds take longest and are added later. */
export async function showPage(panel, test, number, run, go, signal) {
  show(panel, h("div", { class: "panel" }, waiting("Loading the page … The first one may take a while.")));
  const address = `/api/tests/${part(test)}/pages/${part(number)}`;
  try {
    const page = await get(address, signal);
    const table = h("div", {}, odds(page, Boolean(run)));
    show(panel, details(page, table, go));
    if (run) show(table, odds(await get(`${address}?run=${part(run)}`, signal)));
  } catch (error) {
    const again = () => showPage(panel, test, number, run, go, signal);
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

function details(page, table, go) {
  const [first, ...others] = page.texts;
  return h(
    "div",
    { class: "panel page-details" },
    h("h3", { tabindex: "-1" }, page.label),
    h("div", { class: "page-text" }, first ? paragraphs(first) : h("p", { class: "soft" }, "(No text.)")),
    others.length
      ? h(
          "details",
          {},
          h("summary", {}, `${others.length} more texts of this page`),
          others.map((text) => h("div", { class: "page-text other" }, paragraphs(text))),
        )
      : null,
    table,
    shortestPath(page.path),
    neighbours("Links from", page.before, go),
    neighbours("Links to", page.after, go),
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
    return h(
      "li",
      {},
      action,
      chance < 1 - 1e-12 ? [" ", h("span", { class: "tag" }, `by chance, ${share(chance)}`)] : null,
    );
  });
  return h(
    "details",
    {},
    h("summary", {}, `Shortest path: ${counted(steps.length, "click")}`),
    h("ol", {}, steps),
  );
}

function neighbours(title, pages, go) {
  if (!pages?.length) return null;
  return h(
    "details",
    { open: pages.length <= 8 },
    h("summary", {}, `${title}: ${pages.length}`),
    h(
      "ul",
      { class: "neighbours" },
      pages.map((other) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "quiet", onclick: () => go(other.page) }, other.label),
          other.actions?.length ? h("span", { class: "small soft" }, `“${other.actions.slice(0, 3).join("”, “")}”`) : null,
        ),
      ),
    ),
  );
}

/** Endings as rows, policies as columns; the agent's column is empty until its numbers arrive. */
function odds(page, awaited = false) {
  const known = PLAYERS.filter(([name]) => page.odds?.[name]);
  if (!known.length)
    return h(
      "p",
      { class: "small soft" },
      "The odds from here are unknown: too few games reach this page.",
    );
  const rows = rowsOf(page, known);
  const paid = rows.some((row) => row.reward);
  const cells = (of) => [...known.map(([player]) => h("td", {}, of(player))), awaited ? h("td", {}, "…") : null];
  const line = (words, of, kind = null) => h("tr", { class: kind }, h("th", { scope: "row" }, words), cells(of));
  const heads = ["Ending", ...known.map(([, words]) => words), ...(awaited ? ["agent"] : [])];
  const never = known.some(([player]) => page.odds[player].unfinished > 0);
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "odds" },
      h(
        "caption",
        {},
        page.exact ? "How it ends from here, exactly" : `How it ends from here, ${byGames(page, known)}`,
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
        paid ? line("final reward", (player) => scoreOf(page.odds[player]), "scores") : null,
        rows
          .slice(0, MOST_ENDINGS)
          .map((row) => line(paid ? `${row.name} (${reward(row.reward)})` : row.name, (player) => share(row.shares[player] ?? 0))),
        never ? line("never ends", (player) => share(page.odds[player].unfinished ?? 0)) : null,
      ),
    ),
    rows.length > MOST_ENDINGS ? h("p", { class: "small soft" }, `… and ${rows.length - MOST_ENDINGS} more`) : null,
  );
}

/** How many games the odds were estimated from. */
function byGames(page, known) {
  const games = known.map(([player]) => page.odds[player].games).filter(Boolean);
  return games.length ? `estimated from ${Math.min(...games)} games` : "as far as it was played";
}

function scoreOf(odds) {
  return number(odds.score) + (odds.error ? ` ± ${number(odds.error)}` : "");
}

/** Every ending with its odds under each policy, the likeliest first. */
function rowsOf(page, known) {
  const names = new Map();
  for (const [player] of known) {
    for (const ending of page.odds[player].endings) {
      const row = names.get(ending.name) || { name: ending.name, reward: ending.reward, shares: {} };
      row.shares[player] = ending.odds;
      names.set(ending.name, row);
    }
  }
  const most = (row) => Math.max(...Object.values(row.shares));
  return [...names.values()].sort((a, b) => most(b) - most(a));
}
