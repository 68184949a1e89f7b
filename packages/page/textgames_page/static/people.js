// Scores of people: averages of novices and experienced players, as in the paper, and all games.

import { get, isAborted, part } from "./api.js";
import { failure, h, nothing, show, waiting } from "./dom.js";
import { number, reward, when } from "./format.js";

export async function peopleView(body, game, signal) {
  show(body, waiting("Loading scores …"));
  try {
    const scores = await get(`/api/scores${game ? `?game=${part(game.id)}` : ""}`, signal);
    const isEmpty = !scores.rows.length && scores.games.every((each) => !each.players);
    show(body, isEmpty ? none(game) : [averages(scores.games), rows(scores.rows, !game)]);
  } catch (error) {
    if (!isAborted(error))
      show(
        body,
        failure(error, () => peopleView(body, game, signal)),
      );
  }
}

function none(game) {
  const link = game
    ? h("a", { class: "button main", href: `#/game/${part(game.id)}/play` }, "Play")
    : h("a", { class: "button main", href: "#/" }, "Choose a game");
  return nothing(
    "There are no scores yet. Enter your name while you play, and your finished games are saved here.",
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
    h("h2", {}, "Average final rewards"),
    h(
      "p",
      { class: "soft" },
      "A person's first game of a story counts as novice, later games count as experienced. Games with an undo are practice and are not averaged.",
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
            ["Game", "People", "Novice mean", "Games", "Experienced mean", "Games"].map((words) =>
              h("th", { scope: "col" }, words),
            ),
          ),
        ),
        h("tbody", {}, lines),
      ),
    ),
  );
}

function rows(games, withGame) {
  if (!games.length) return null;
  const lines = games.map((row) =>
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
  const head = [
    "Player",
    ...(withGame ? ["Game"] : []),
    "Final reward",
    "Steps",
    "Ending",
    "Undone",
    "When",
  ];
  const words = new Set(["Game", "Ending", "When"]);
  return h(
    "section",
    {},
    h("h2", {}, "Finished games"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Finished games" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((name) =>
              h("th", { scope: "col", class: words.has(name) ? "words" : null }, name),
            ),
          ),
        ),
        h("tbody", {}, lines),
      ),
    ),
  );
}
