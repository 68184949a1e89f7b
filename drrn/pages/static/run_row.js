// A run in the list of runs: its progress, its score, and its buttons.

import { h } from "./dom.js";
import { number, when } from "./format.js";

export const STATES = {
  starting: "starting",
  running: "training",
  finished: "finished",
  stopped: "stopped",
  failed: "failed",
};
const KINDS = { running: "good", starting: "good", failed: "bad", stopped: "warn" };

/** The row of a run; its buttons call methods of `view`. */
export function runRow(run, colour, drawn, view) {
  const box = h("input", {
    type: "checkbox",
    checked: drawn,
    dataset: { key: `draw-${run.id}` },
    "aria-label": `Draw ${run.id}`,
    onchange: () => view.choose(run.id, box.checked),
  });
  return h(
    "li",
    { class: "run", dataset: { run: run.id } },
    box,
    h("span", { class: `swatch ${drawn ? `line-${colour}` : ""}`, "aria-hidden": "true" }),
    words(run),
    numbers(run),
    h("div", { class: "row" }, buttons(run, view)),
  );
}

function words(run) {
  const state = run.stopping ? "stopping" : STATES[run.status] || run.status;
  const facts = [run.model, run.recipe, `${run.replicas} replicas`, `started ${when(run.started)}`]
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    { class: "run-words" },
    h("b", {}, run.id),
    " ",
    h("span", { class: `tag ${KINDS[run.status] || ""}` }, state),
    h("p", { class: "small soft" }, facts),
    run.error ? h("p", { class: "small bad" }, run.error) : null,
  );
}

function numbers(run) {
  const known = run.score !== null && run.score !== undefined;
  return h(
    "div",
    { class: "run-numbers" },
    h("progress", { max: String(run.rounds), value: run.round, "aria-label": "Rounds" }),
    h("span", { class: "small number" }, `${run.round} of ${run.rounds} rounds`),
    h("span", { class: "score number", title: "Mean final reward after the last round" }, known ? number(run.score) : ""),
  );
}

function buttons(run, view) {
  const button = (text, key, act) =>
    h(
      "button",
      { type: "button", dataset: { key: `${key}-${run.id}` }, "aria-label": `${text}: ${run.id}`, onclick: act },
      text,
    );
  const busy = ["starting", "running"].includes(run.status);
  return [
    busy && !run.stopping ? button("Stop", "stop", () => view.send(run, "stop")) : null,
    ["stopped", "failed"].includes(run.status) ? button("Resume", "resume", () => view.send(run, "resume")) : null,
    run.status === "finished" ? button("More rounds", "more", () => view.more(run)) : null,
    run.ready ? button("Embeddings", "embeddings", () => view.showEmbeddings(run)) : null,
    !busy && run.removable ? button("Delete", "delete", () => view.removeRun(run)) : null,
  ];
}
