// The scores of who played, novice and experienced, as in the paper.

import { get, left, part } from "./api.js";
import { failure, h, nothing, show, waiting } from "./dom.js";
import { number, reward, when } from "./format.js";

export async function peopleView(body, game, signal) {
  show(body, waiting("Looking for scores …"));
  try {
    const found = await get(`/api/scores${game ? `?game=${part(game.id)}` : ""}`, signal);
    show(body, found.rows.length || found.games.length ? [averages(found.games), rows(found.rows, !game)] : none(game));
  } catch (error) {
    if (!left(error))
      show(
        body,
        failure(error, () => peopleView(body, game, signal)),
      );
  }
}

function none(game) {
  const link = game
    ? h("a", { class: "button main", href: `#/game/${part(game.id)}/play` }, "Play it")
    : h("a", { class: "button main", href: "#/" }, "Choose a game");
  return nothing(
    "Nobody has a score yet. Write your name beside a game while you play it to its end, without undo, and you stand here.",
    link,
  );
}

function averages(games) {
  if (!games.length) return null;
  const lines = games.map((game) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        game.game ? h("a", { href: `#/game/${part(game.game)}/people` }, game.title) : game.title,
      ),
      h("td", {}, String(game.players)),
      h("td", {}, number(game.novice)),
      h("td", {}, String(game.novice_games)),
      h("td", {}, number(game.experienced)),
      h("td", {}, String(game.experienced_games)),
    ),
  );
  return h(
    "section",
    {},
    h("h2", {}, "Final rewards of people"),
    h(
      "p",
      { class: "soft" },
      "A person's first game of a story counts as a novice's, each later one as an experienced player's. Games with an undo are practice and count in no average.",
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Averages" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Game", "People", "Novice, mean", "games", "Experienced, mean", "games"].map((words) =>
              h("th", { scope: "col" }, words),
            ),
          ),
        ),
        h("tbody", {}, lines),
      ),
    ),
  );
}

function rows(found, withGame) {
  if (!found.length) return null;
  const lines = found.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.player),
      withGame && h("td", { class: "words" }, row.game),
      h("td", {}, reward(Number(row.final_reward))),
      h("td", {}, String(row.steps)),
      h("td", { class: "words" }, row.ending || "—"),
      h("td", {}, String(row.undone)),
      h("td", { class: "words" }, when(row.when)),
    ),
  );
  const head = ["Who", ...(withGame ? ["Game"] : []), "Final reward", "Steps", "Ending", "Undone", "When"];
  const words = new Set(["Game", "Ending", "When"]);
  return h(
    "section",
    {},
    h("h2", {}, "Games played"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Games played" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((name) => h("th", { scope: "col", class: words.has(name) ? "words" : null }, name)),
          ),
        ),
        h("tbody", {}, lines),
      ),
    ),
  );
}
