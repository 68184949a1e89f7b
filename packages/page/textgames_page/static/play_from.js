// Play from here: a game that starts where a path leads, and the variables at its page.

import { part, post } from "./api.js";
import { announce, h, newSession, show, toast } from "./dom.js";

/** Start a game where a path leads, and show it in the player. */
export async function playFrom(game, path, button) {
  button.disabled = true;
  try {
    const session = newSession();
    const { seed, moves } = await post(`/api/games/${part(game.id)}/path`, { session, path });
    const episode = { session, seed, moves, by: moves.map(() => "path"), undone: 0 };
    sessionStorage.setItem(`page.episode.${game.id}`, JSON.stringify(episode));
    location.hash = `#/game/${part(game.id)}/play`;
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
}

/**
 * The variables at the page of a game; where the engine allows it, they can be given other values.
 */
export function variablesPanel(play) {
  const element = h("details", { class: "panel variables", hidden: true });
  const row = (name) => {
    const text = JSON.stringify(play.page.variables[name]);
    const input = h("input", {
      type: "text",
      value: text,
      "aria-label": name,
      spellcheck: "false",
      onchange: () => input.value !== text && setVariable(play, name, input.value),
    });
    const value = play.page.settable ? input : text;
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value));
  };
  const fill = () => {
    const { passage, variables, settable } = play.page;
    const names = Object.keys(variables).sort();
    element.hidden = !names.length;
    const help = settable
      ? "Change a value to see the passage again with it."
      : "The values of this story cannot be changed here.";
    show(
      element,
      h("summary", {}, "Variables"),
      passage ? h("p", { class: "small soft" }, `in the passage “${passage}”`) : null,
      h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, names.map(row)))),
      help && h("p", { class: "small soft" }, help),
    );
  };
  return { element, show: fill };
}

async function setVariable(play, name, words) {
  let value = words;
  try {
    value = JSON.parse(words);
  } catch {
    /* a text without quotes */
  }
  await play.ask(
    () => play.move({ [name]: value }, "values"),
    () => {
      play.turn();
      announce(`${name} is ${words} now. ${play.page.text}`);
    },
  );
}
