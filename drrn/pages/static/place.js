// A page of the map: its text, the ways there, and the odds from there.

import { get, left, part } from "./api.js";
import { failure, h, nothing, show, waiting } from "./dom.js";
import { number, reward, share } from "./format.js";

const PLAYERS = [
  ["random", "random"],
  ["best", "best"],
  ["agent", "agent"],
];
const MOST_ENDINGS = 12;

/** Fill the panel; `go(number)` shows another page. The agent's odds take longest, and come when they are there. */
export async function showPlace(panel, test, place, run, go, signal) {
  show(panel, h("div", { class: "panel" }, waiting("Reading that page … The first one may take a while.")));
  const address = `/api/tests/${part(test)}/places/${part(place)}`;
  try {
    const found = await get(address, signal);
    const table = h("div", {}, odds(found, Boolean(run)));
    show(panel, told(found, table, go));
    if (run) show(table, odds(await get(`${address}?run=${part(run)}`, signal)));
  } catch (error) {
    const again = () => showPlace(panel, test, place, run, go, signal);
    if (!left(error)) show(panel, h("div", { class: "panel" }, failure(error, again)));
  }
}

export function noPlace(noun) {
  return h(
    "div",
    { class: "panel" },
    nothing(
      `Click a ${noun} on the map, or find it by its name, to read it, to see the ways there, and how the story ends from there.`,
    ),
  );
}

function told(found, table, go) {
  const [first, ...others] = found.texts;
  return h(
    "div",
    { class: "panel place-told" },
    h("h3", { tabindex: "-1" }, found.label),
    h("div", { class: "place-text" }, first ? paragraphs(first) : h("p", { class: "soft" }, "(No words.)")),
    others.length
      ? h(
          "details",
          {},
          h("summary", {}, `${others.length} more wordings`),
          others.map((text) => h("div", { class: "place-text other" }, paragraphs(text))),
        )
      : null,
    table,
    way(found.way),
    neighbours("Comes from", found.from, go),
    neighbours("Leads to", found.to, go),
  );
}

function paragraphs(text) {
  return text
    .split(/\n+/)
    .filter((line) => line.trim())
    .map((line) => h("p", {}, line));
}

function way(found) {
  if (!found) return null;
  if (!found.actions.length) return h("p", { class: "small soft" }, "The story begins here.");
  const steps = found.actions.map((action, index) => {
    const chance = found.chances?.[index] ?? 1;
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
    h("summary", {}, `A shortest way here: ${steps.length} ${steps.length === 1 ? "click" : "clicks"}`),
    h("ol", {}, steps),
  );
}

function neighbours(title, found, go) {
  if (!found?.length) return null;
  return h(
    "details",
    { open: found.length <= 8 },
    h("summary", {}, `${title}: ${found.length}`),
    h(
      "ul",
      { class: "neighbours" },
      found.map((other) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "quiet", onclick: () => go(other.place) }, other.label),
          other.words?.length ? h("span", { class: "small soft" }, `“${other.words.slice(0, 3).join("”, “")}”`) : null,
        ),
      ),
    ),
  );
}

/** Endings as rows, players as columns; the agent's column is there before its numbers are, so that nothing jumps. */
function odds(found, awaited = false) {
  const known = PLAYERS.filter(([name]) => found.odds?.[name]);
  if (!known.length)
    return h(
      "p",
      { class: "small soft" },
      "The odds from here are not known: the story has more states than were searched.",
    );
  const rows = rowsOf(found, known);
  const paid = rows.some((row) => row.reward);
  const cells = (of) => [...known.map(([player]) => h("td", {}, of(player))), awaited ? h("td", {}, "…") : null];
  const line = (words, of, kind = null) => h("tr", { class: kind }, h("th", { scope: "row" }, words), cells(of));
  const heads = ["Ending", ...known.map(([, words]) => words), ...(awaited ? ["agent"] : [])];
  const never = known.some(([player]) => found.odds[player].trapped > 0);
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "odds" },
      h(
        "caption",
        {},
        found.exact ? "How it ends from here, exactly" : `How it ends from here, ${byGames(found, known)}`,
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
        paid ? line("final reward", (player) => scoreOf(found.odds[player]), "scores") : null,
        rows
          .slice(0, MOST_ENDINGS)
          .map((row) => line(paid ? `${row.name} (${reward(row.reward)})` : row.name, (player) => share(row.shares[player] ?? 0))),
        never ? line("never ends", (player) => share(found.odds[player].trapped ?? 0)) : null,
      ),
    ),
    rows.length > MOST_ENDINGS ? h("p", { class: "small soft" }, `… and ${rows.length - MOST_ENDINGS} more`) : null,
  );
}

/** By how many games odds were found that are not exact. */
function byGames(found, known) {
  const games = known.map(([player]) => found.odds[player].games).filter(Boolean);
  return games.length ? `by ${Math.min(...games)} games` : "as far as was seen";
}

function scoreOf(odds) {
  return number(odds.score) + (odds.error ? ` ± ${number(odds.error)}` : "");
}

/** Every ending with each player's odds, the likeliest first. */
function rowsOf(found, known) {
  const names = new Map();
  for (const [player] of known) {
    for (const ending of found.odds[player].endings) {
      const row = names.get(ending.name) || { name: ending.name, reward: ending.reward, shares: {} };
      row.shares[player] = ending.odds;
      names.set(ending.name, row);
    }
  }
  const most = (row) => Math.max(...Object.values(row.shares));
  return [...names.values()].sort((a, b) => most(b) - most(a));
}
