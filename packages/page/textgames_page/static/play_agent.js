// What an agent thinks of a page: Q of each replica, softmax shares, important words; and its play.

import { get, isAborted, part, post } from "./api.js";
import { HAS_AGENTS, field, h, pause, recall, remember, select, show, toast, toggle } from "./dom.js";
import { number, runName, share } from "./format.js";
import { splitAtMarks, storyText } from "./story_text.js";

const POLICIES = [
  ["deployed", "deployed: chosen after training"],
  ["best", "best: highest Q, no loops"],
  ["softmax", "softmax: random, prefers high Q"],
  ["greedy", "greedy: highest Q"],
];
const PACES = [
  ["7000", "slow"],
  ["4000", "reading speed"],
  ["1500", "fast"],
  ["300", "very fast"],
];

const EXPLANATION =
  "Q is the return that the agent expects after the action: the number is the mean over replicas (copies trained with " +
  "different seeds), with a dot for each. The bar is the probability of the action under softmax.";

export function agentPanel(play) {
  return new AgentPanel(play);
}

class AgentPanel {
  constructor(play) {
    Object.assign(this, {
      play,
      runs: [],
      run: "",
      thought: null,
      markedIndex: null,
      playing: null,
    });
    this.policy = select(POLICIES, recall("policy", "deployed"), (value) => {
      remember("policy", value);
      this.think();
    });
    this.pace = select(PACES, recall("pace", "4000"), (value) => remember("pace", value));
    this.on = toggle("Show Q-values", "thoughts", () => this.think(), true);
    this.words = toggle("Mark important words", "words", () => this.think());
    this.state = h("p", { class: "small soft agent-state", role: "status" }, "Loading agents …");
    this.chooser = h("div", {});
    this.stepButton = h(
      "button",
      { type: "button", onclick: () => this.step() },
      "Agent plays one step ",
      h("kbd", {}, "a"),
    );
    this.restButton = h(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        onclick: () => (this.playing ? this.rest() : this.playRest()),
      },
      "Agent plays to the end",
    );
    this.controls = h(
      "div",
      { hidden: true },
      this.chooser,
      this.on.element,
      h("p", { class: "help" }, EXPLANATION),
      this.words.element,
      this.legend(),
      field("Policy", this.policy),
      h("div", { class: "row" }, this.stepButton, this.restButton),
      field("Speed", this.pace),
    );
    this.element = h(
      "section",
      { class: "panel agent", hidden: !HAS_AGENTS },
      h("h2", {}, "Agent"),
      this.controls,
      this.state,
    );
  }

  legend() {
    this.key = h(
      "p",
      { class: "small soft words-key" },
      h("mark", { class: "for" }, "for"),
      " / ",
      h("mark", { class: "against" }, "against"),
      " the action under the pointer: how much Q changes without the word.",
    );
    for (const mark of this.key.querySelectorAll("mark")) {
      mark.style.setProperty("--strength", "30%");
    }
    return this.key;
  }

  async begin() {
    try {
      const { runs } = await get(`/api/runs?game=${part(this.play.game.id)}`, this.play.signal);
      this.offer(runs.filter((run) => run.ready));
    } catch (error) {
      if (!isAborted(error)) this.state.textContent = error.message;
    }
  }

  offer(runs) {
    this.runs = runs;
    this.controls.hidden = !runs.length;
    if (!runs.length) {
      show(
        this.state,
        "No agent has been trained on this game yet. ",
        h("a", { href: `#/game/${part(this.play.game.id)}/learn` }, "Train one"),
        ".",
      );
      return;
    }
    const savedRun = recall(`run.${this.play.game.id}`);
    this.run = runs.some((run) => run.id === savedRun) ? savedRun : runs[0].id;
    const names = runs.map((run) => [run.id, runName(run)]);
    const choice = select(names, this.run, (value) => {
      this.run = value;
      remember(`run.${this.play.game.id}`, value);
      this.think();
    });
    show(this.chooser, field("Run", choice));
    this.think();
  }

  /** Ask the agent about the current page; late answers for other pages are dropped. */
  async think() {
    const { page } = this.play;
    this.thought = this.markedIndex = null;
    this.key.hidden = !this.words.box.checked || !this.on.box.checked;
    this.play.actions.classList.toggle("thinking", Boolean(this.run && this.on.box.checked));
    if (!this.run || !page) return;
    this.stepButton.disabled = this.restButton.disabled = page.ended || page.stopped;
    if (!this.on.box.checked || page.ended || page.stopped) {
      this.state.textContent = this.on.box.checked
        ? "The story is over."
        : "Q-values are hidden.";
      storyText(this.play.text, page.text);
      this.plain();
      return;
    }
    this.state.textContent = "Computing Q-values …";
    await this.ask(page);
  }

  advice(words) {
    const question = { ...this.play.place, policy: this.policy.value, words };
    const address = `/api/runs/${part(this.run)}/advice/${part(this.play.game.id)}`;
    return post(address, question, this.play.signal);
  }

  async ask(page) {
    try {
      const { run } = this;
      const thought = await this.advice(this.words.box.checked);
      if (this.play.page !== page || run !== this.run) return;
      this.thought = thought;
      this.showThought(page);
    } catch (error) {
      if (!isAborted(error) && this.play.page === page) this.state.textContent = error.message;
    }
  }

  showThought(page) {
    const { thought } = this;
    const q = thought.actions.map((action) => action.q);
    const favourite = thought.choice ?? q.indexOf(Math.max(...q));
    const span = [
      Math.min(...thought.actions.flatMap((a) => a.replicas)),
      Math.max(...thought.actions.flatMap((a) => a.replicas)),
    ];
    this.play.prompt?.showFavourites(thought.actions);
    this.buttons().forEach((button) => {
      const index = Number(button.dataset.index);
      button.classList.toggle("favourite", index === favourite);
      show(button.querySelector(".thought"), opinion(thought.actions[index], span));
    });
    const otherGame = thought.other_game ? `It was trained on ${thought.other_game}. ` : "";
    const circleNote = thought.circle
      ? "The game is going in circles, so it draws an action at random. "
      : "";
    this.state.textContent = `${otherGame}${circleNote}It would choose “${page.actions[favourite]}”.`;
    this.look(favourite, true);
    if (!thought.words) {
      storyText(this.play.text, page.text);
      this.plain();
    }
  }

  buttons() {
    return [...this.play.actions.querySelectorAll("button.action")];
  }

  plain() {
    for (const button of this.buttons()) {
      show(button.querySelector(".action-words"), this.play.page.actions[button.dataset.index]);
    }
  }

  /** Mark the words for and against this action. */
  look(index, again = false) {
    const words = this.thought?.words;
    if (!words || (this.markedIndex === index && !again)) return;
    this.markedIndex = index;
    const { page } = this.play;
    storyText(
      this.play.text,
      page.text,
      words.state.map((word) => ({ ...word, weight: word.importance[index] })),
    );
    const maxWeight = Math.max(
      ...words.actions.flat().map((word) => Math.abs(word.importance)),
      1e-9,
    );
    for (const button of this.buttons()) {
      const place = Number(button.dataset.index);
      const marks = words.actions[place].map((word) => ({
        ...word,
        weight: word.importance,
        maxWeight,
      }));
      show(button.querySelector(".action-words"), splitAtMarks(page.actions[place], marks));
    }
  }

  async step() {
    const { play } = this;
    if (!this.run || !play.page || play.page.ended || play.page.stopped || play.busy) return;
    await play.ask(() => this.takeStep(), () => play.showStep("agent"));
  }

  /** Draw an action by the agent's probabilities, take it, and highlight it for a moment. */
  async takeStep() {
    const { actions } = this.thought ?? (await this.advice(false));
    const index = drawIndex(actions.map((action) => action.chance));
    await this.play.move(index, "agent");
    this.play.actions.querySelector(`button.action[data-index="${index}"]`)?.classList.add("taken");
    await pause(this.playing ? Number(this.pace.value) / 4 : 450, this.play.signal);
  }

  /** Play from the first page to the end. */
  async watch() {
    if (!this.run) return;
    history.replaceState(null, "", `#/game/${part(this.play.game.id)}/play`); // not again on reload
    await this.playRest();
  }

  async playRest() {
    const { play } = this;
    const playing = (this.playing = new AbortController());
    play.signal.addEventListener("abort", () => this.rest(), { once: true });
    this.restButton.setAttribute("aria-pressed", "true");
    show(this.restButton, "Stop");
    while (!playing.signal.aborted && !play.page.ended && !play.page.stopped) {
      const { steps } = play;
      await this.step();
      if (play.steps === steps) {
        if (!playing.signal.aborted) toast("The agent could not continue.", "bad");
        break;
      }
      if (!play.page.ended) await pause(Number(this.pace.value), playing.signal);
    }
    if (this.playing === playing) this.rest();
  }

  rest() {
    this.playing?.abort();
    this.playing = null;
    this.restButton.setAttribute("aria-pressed", "false");
    show(this.restButton, "Agent plays to the end");
  }
}

/** An index, drawn with these probabilities. */
function drawIndex(chances) {
  let rest = Math.random() * chances.reduce((sum, chance) => sum + chance, 0);
  const index = chances.findIndex((chance) => (rest -= chance) < 0);
  return index < 0 ? chances.indexOf(Math.max(...chances)) : index;
}

/** Q, the softmax share as a bar, and a dot for each replica. */
function opinion(action, [low, high]) {
  const rail = h("span", { class: "share-rail" });
  const bar = h("span", { class: "share-bar" });
  bar.style.width = `${(100 * action.share).toFixed(1)}%`;
  rail.append(bar);
  const dots = h("span", {
    class: "replicas",
    title: `Q of each replica: ${action.replicas.map((q) => number(q)).join(", ")}`,
  });
  for (const q of action.replicas) {
    const dot = h("span", { class: "dot" });
    dot.style.left = `${high > low ? (100 * (q - low)) / (high - low) : 50}%`;
    dots.append(dot);
  }
  return [
    h(
      "span",
      { class: "q" },
      h("span", { class: "unseen" }, "the agent expects "),
      `Q ${number(action.q)}`,
    ),
    dots,
    rail,
    h("span", { class: "share" }, share(action.share)),
  ];
}
