// A run in the list of runs: whether it is drawn, how far it is, and what can be done with it.

import { h } from "./dom.js";
import { number, when } from "./format.js";

export const STATES = {
  starting: "begins",
  running: "learns",
  finished: "finished",
  stopped: "stopped",
  failed: "failed",
};
const KINDS = { running: "good", starting: "good", failed: "bad", stopped: "warn" };

/** The row; `view` is told what was pressed: choose, tell, more, showEmbeddings, away. */
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
  const state = run.stopping ? "stops after this round" : STATES[run.status] || run.status;
  const made = [run.model, run.recipe, `${run.replicas} replicas`, `begun ${when(run.began)}`]
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    { class: "run-words" },
    h("b", {}, run.id),
    " ",
    h("span", { class: `tag ${KINDS[run.status] || ""}` }, state),
    h("p", { class: "small soft" }, made),
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
    h("span", { class: "score number", title: "Mean final reward of the last round" }, known ? number(run.score) : ""),
  );
}

function buttons(run, view) {
  const button = (said, key, act) =>
    h(
      "button",
      { type: "button", dataset: { key: `${key}-${run.id}` }, "aria-label": `${said}: ${run.id}`, onclick: act },
      said,
    );
  const busy = ["starting", "running"].includes(run.status);
  return [
    busy && !run.stopping ? button("Stop", "stop", () => view.tell(run, "stop")) : null,
    ["stopped", "failed"].includes(run.status) ? button("Go on", "resume", () => view.tell(run, "resume")) : null,
    run.status === "finished" ? button("More rounds", "more", () => view.more(run)) : null,
    run.ready ? button("Embeddings", "embeddings", () => view.showEmbeddings(run)) : null,
    !busy && run.removable ? button("Delete", "delete", () => view.away(run)) : null,
  ];
}
