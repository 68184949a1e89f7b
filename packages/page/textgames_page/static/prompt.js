// The prompt of a game with many actions: type one, or pick a verb and its object.

import { h, show } from "./dom.js";
import { plural } from "./format.js";

export const MANY = 12; // actions: up to here, each has its own button
const FAVOURITES = 5;
const NEAR = 6; // actions that a wrong command is answered with

/** The prompt of a page; `play` has its actions and makes the button of one. */
export class Prompt {
  constructor(play) {
    this.play = play;
    this.actions = play.page.actions;
    this.verbs = verbsOf(this.actions);
    const list = h(
      "datalist",
      { id: "commands" },
      this.actions.map((words) => h("option", { value: words })),
    );
    this.input = h("input", {
      type: "text",
      id: "command",
      list: "commands",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      placeholder: this.actions[0],
      "aria-describedby": "command-answer",
    });
    this.answer = h("p", { class: "small soft", id: "command-answer", "aria-live": "polite" });
    this.objects = h("div", { class: "row objects" });
    this.favourites = h("ol", { class: "actions" });
    this.best = h("div", { hidden: true }, h("h2", {}, "What the agent would do"), this.favourites);
    this.element = h(
      "div",
      { class: "prompt" },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            this.run(this.input.value);
          },
        },
        h("label", { for: "command" }, "What do you do?"),
        h("div", { class: "row" }, this.input, list, h("button", { type: "submit", class: "main" }, "Do it")),
        this.answer,
      ),
      this.best,
      h("h2", {}, plural(this.actions.length, "action")),
      h("div", { class: "row verbs" }, [...this.verbs.keys()].map((verb) => this.verbButton(verb))),
      this.objects,
    );
  }

  verbButton(verb) {
    const indices = this.verbs.get(verb);
    const isWhole = indices.length === 1 && this.actions[indices[0]] === verb;
    const button = h(
      "button",
      {
        type: "button",
        class: "verb",
        "aria-pressed": isWhole ? null : "false",
        onclick: () => (isWhole ? this.play.choose(indices[0]) : this.pick(verb, button)),
      },
      isWhole ? verb : `${verb} …`,
    );
    return button;
  }

  /** Show the objects of a verb. */
  pick(verb, button) {
    for (const other of this.element.querySelectorAll(".verb[aria-pressed]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    show(
      this.objects,
      this.verbs.get(verb).map((index) =>
        h(
          "button",
          {
            type: "button",
            class: "object",
            "aria-label": this.actions[index],
            onclick: () => this.play.choose(index),
          },
          this.actions[index].slice(verb.length).trim() || verb,
        ),
      ),
    );
  }

  /** Take the action that was typed, or say which ones are near. */
  run(words) {
    const typed = normal(words);
    const names = this.actions.map(normal);
    const exact = names.indexOf(typed);
    const matches = names.flatMap((name, index) => (typed && name.includes(typed) ? [index] : []));
    if (exact >= 0) this.play.choose(exact);
    else if (matches.length === 1) this.play.choose(matches[0]);
    else {
      const near = matches.slice(0, NEAR).map((index) => this.actions[index]);
      this.answer.textContent = near.length
        ? `Which one: ${near.join(", ")}${matches.length > NEAR ? " …" : ""}?`
        : "That is not possible here. Pick a verb below to see what is.";
      this.input.select();
    }
  }

  /** Show the actions that the agent values most, as buttons. */
  showFavourites(thoughts) {
    const order = thoughts.map((_, index) => index).sort((a, b) => thoughts[b].q - thoughts[a].q);
    this.top = order.slice(0, FAVOURITES);
    this.best.hidden = false;
    show(this.favourites, this.top.map((index, place) => this.play.actionButton(index, place)));
  }
}

function normal(words) {
  return words.toLowerCase().split(/\s+/).filter(Boolean).join(" ");
}

/** The indices of the actions that start with each first word. */
function verbsOf(actions) {
  const verbs = new Map();
  actions.forEach((words, index) => {
    const verb = words.split(" ")[0];
    verbs.set(verb, [...(verbs.get(verb) || []), index]);
  });
  return new Map([...verbs].sort(([a], [b]) => a.localeCompare(b)));
}
