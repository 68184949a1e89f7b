// A run in the list of runs: its progress, its score, and its buttons.

import { h } from "./dom.js";
import { number, when } from "./format.js";

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
    "aria-label": `Draw ${run.id}`,
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
  const replicas = run.replicas && `${run.replicas} replicas`;
  const facts = [run.model, run.recipe, replicas, run.when && `saved ${when(run.when)}`]
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    { class: "run-words" },
    h("b", {}, run.id),
    " ",
    h("span", { class: `tag ${KINDS[run.state] || ""}` }, STATES[run.state] || run.state),
    h("p", { class: "small soft" }, facts),
    run.error ? h("p", { class: "small bad" }, run.error) : null,
  );
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
        "aria-label": `${text}: ${run.id}`,
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
    run.ready ? button("Embeddings", "embeddings", () => view.showEmbeddings(run)) : null,
    !busy && run.removable ? button("Delete", "delete", () => view.removeRun(run)) : null,
  ];
}
