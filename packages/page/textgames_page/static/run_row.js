// A run in the list of runs: its progress, its score, and its buttons.

import { part } from "./api.js";
import { h } from "./dom.js";
import { number, plural, when } from "./format.js";

export const BUSY = ["starting", "running"];
export const STATES = {
  running: "training",
  interrupted: "stopped",
  agent: "agent without its run",
};
const KINDS = {
  running: "good",
  starting: "good",
  failed: "bad",
  damaged: "bad",
  interrupted: "warn",
};

/** The row of a run; its buttons call methods of `view`. */
export function runRow(run, colour, isDrawn, view) {
  const box = h("input", {
    type: "checkbox",
    checked: isDrawn,
    dataset: { key: `draw-${run.id}` },
    "aria-label": `Draw ${run.title || run.id}`,
    onchange: () => view.choose(run.id, box.checked),
  });
  return h(
    "li",
    { class: "run", dataset: { run: run.id } },
    box,
    h("span", { class: `swatch ${isDrawn ? `line-${colour}` : ""}`, "aria-hidden": "true" }),
    words(run),
    numbers(run),
    h("div", { class: "row" }, buttons(run, view)),
  );
}

function words(run) {
  const replicas = run.replicas && plural(run.replicas, "replica");
  const isBusy = BUSY.includes(run.state);
  const time = run.when && !isBusy && `saved ${when(run.when)}`;
  const facts = [run.title && run.id, run.model, run.recipe, replicas, time]
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    { class: "run-words" },
    h("b", {}, run.title || run.id),
    " ",
    h("span", { class: `tag ${KINDS[run.state] || ""}` }, STATES[run.state] || run.state),
    h("p", { class: "small soft" }, facts),
    isBusy
      ? h("p", { class: "small soft number" }, progressWords(run))
      : null,
    run.error ? h("p", { class: "small bad" }, run.error) : null,
  );
}

/** What a run does at the moment. */
export function progressWords(run) {
  const { phase, done, total } = run.progress || {};
  const round = `round ${Math.min(run.rounds_done + 1, run.rounds)}`;
  const games = `${(done || 0).toLocaleString("en")} of ${(total || 0).toLocaleString("en")} games`;
  const words = {
    open: "opening the game",
    compile: `reading the game: ${(done || 0).toLocaleString("en")} states so far`,
    reference: "computing random play and the best possible score",
    play: `${round}: ${games} played`,
    learn: `${round}: learning from these games`,
    evaluate: `${round}: testing, ${games} per policy`,
  };
  return words[phase] || "starting a process and loading PyTorch";
}

function numbers(run) {
  if (!run.rounds) return null;
  return h(
    "div",
    { class: "run-numbers" },
    h("progress", { max: String(run.rounds), value: run.rounds_done, "aria-label": "Rounds" }),
    h("span", { class: "small number" }, `${run.rounds_done} of ${run.rounds} rounds`),
    h(
      "span",
      { class: "score number", title: "Mean final reward after the last round" },
      run.rounds_done ? number(run.scores.best) : "",
    ),
  );
}

function buttons(run, view) {
  const button = (text, key, act) =>
    h(
      "button",
      {
        type: "button",
        dataset: { key: `${key}-${run.id}` },
        "aria-label": `${text}: ${run.title || run.id}`,
        onclick: act,
      },
      text,
    );
  const busy = BUSY.includes(run.state);
  return [
    busy ? button("Stop", "stop", () => view.send(run, "stop")) : null,
    ["interrupted", "failed"].includes(run.state)
      ? button("Resume", "resume", () => view.send(run, "resume"))
      : null,
    run.state === "finished" ? button("More rounds", "more", () => view.more(run)) : null,
    run.ready
      ? h(
          "a",
          {
            class: "button",
            dataset: { key: `watch-${run.id}` },
            "aria-label": `Watch it play: ${run.title || run.id}`,
            href: `#/game/${part(view.game.id)}/play/${part(run.id)}`,
          },
          "Watch it play",
        )
      : null,
    run.rounds_done ? button("How it learned", "lessons", () => view.showLearning(run)) : null,
    button("Rename", "rename", () => view.rename(run)),
    !busy && run.removable ? button("Delete", "delete", () => view.removeRun(run)) : null,
  ];
}
