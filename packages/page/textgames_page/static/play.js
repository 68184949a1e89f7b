// Play: the text of the page, its actions, undo, and what an agent thinks of them.

import { get, isAborted, part, post } from "./api.js";
import { announce, failure, field, h, recall, remember, show, toast, waiting } from "./dom.js";
import { plural, reward, share } from "./format.js";
import { factsAbout } from "./games.js";
import { agentPanel } from "./play_agent.js";
import { variablesPanel } from "./play_from.js";
import { MANY, Prompt } from "./prompt.js";
import { storyText } from "./story_text.js";

const TEXT_FIELDS = "input:not([type=checkbox]), select, textarea"; // keys are letters there

/** Play a game; the address may name the run whose agent is to play it. */
export async function playView(body, game, signal, [run] = []) {
  const view = new Play(body, game, signal);
  if (run) {
    remember(`run.${game.id}`, run);
    sessionStorage.removeItem(view.key); // from the first page
  }
  await view.begin();
  if (run && view.page) await view.agent.watch();
}

/** A game in this tab. */
class Play {
  constructor(body, game, signal) {
    Object.assign(this, { body, game, signal, page: null, history: [], busy: false });
    this.key = `drrn.session.${game.id}`;
    this.text = h("div", { class: "story-text", tabindex: "-1" });
    this.actions = h("ol", { class: "actions", "aria-label": "Actions" });
    this.past = h("details", { class: "past" }, h("summary", {}, "The story so far"));
    this.bar = h("div", { class: "row play-bar" });
    this.variables = variablesPanel(this);
    this.agent = agentPanel(this);
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
  }

  async begin() {
    show(this.body, waiting("Opening the story …"));
    try {
      const page = (await this.savedSession()) || (await this.create());
      show(
        this.body,
        h(
          "div",
          { class: "play" },
          h(
            "article",
            { class: "sheet", "aria-label": "The story" },
            this.past,
            this.text,
            this.actions,
            this.bar,
          ),
          h(
            "aside",
            { class: "side", "aria-label": "Variables, agent and player" },
            this.variables.element,
            this.agent.element,
            this.person(),
          ),
        ),
      );
      this.variables.element.open = page.history.some((step) => step.by === "path");
      this.turn(page, page.history);
      await this.agent.begin();
    } catch (error) {
      if (!isAborted(error))
        show(
          this.body,
          failure(error, () => this.begin()),
        );
    }
  }

  /** The session of this tab, if the server still has it. */
  async savedSession() {
    const id = sessionStorage.getItem(this.key);
    if (!id) return null;
    try {
      return await get(`/api/sessions/${part(id)}`, this.signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      return null;
    }
  }

  async create() {
    const player = recall("player") || undefined;
    const page = await post("/api/sessions", { game: this.game.id, player }, this.signal);
    sessionStorage.setItem(this.key, page.session);
    return page;
  }

  get address() {
    return `/api/sessions/${part(this.page.session)}`;
  }

  /** Show another page. */
  turn(page, history = null) {
    this.page = page;
    if (history) this.history = history;
    storyText(this.text, page.text);
    this.showPast();
    this.showActions();
    this.showBar();
    this.variables.show();
    // The pressed button was removed, and the focus with it.
    if (document.activeElement === document.body) this.text.focus({ preventScroll: true });
    this.agent.think();
  }

  showPast() {
    const steps = this.history.map((step) =>
      h(
        "li",
        {},
        h("p", { class: "past-text" }, step.text),
        h(
          "p",
          { class: "past-choice" },
          { agent: "The agent: ", path: "Replayed: " }[step.by] ?? "You: ",
          step.actions[step.choice] ?? "…",
        ),
      ),
    );
    this.past.hidden = !steps.length;
    show(
      this.past,
      h("summary", {}, `The story so far: ${plural(steps.length, "step")}`),
      h("ol", {}, steps),
    );
  }

  showActions() {
    const { page } = this;
    this.prompt = null;
    if (page.ended || page.stopped) {
      show(this.actions, h("li", { class: "the-end" }, this.ending()));
      return;
    }
    if (page.actions.length > MANY) {
      this.prompt = new Prompt(this);
      show(this.actions, h("li", {}, this.prompt.element));
      return;
    }
    show(this.actions, page.actions.map((_, index) => this.actionButton(index, index)));
  }

  /** The button of an action, with the key of its place. */
  actionButton(index, place) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "action",
          dataset: { index },
          onclick: () => this.choose(index),
          onfocus: () => this.agent.look(index),
          onpointerenter: () => this.agent.look(index),
        },
        h("span", { class: "key", "aria-hidden": "true" }, place < 9 ? String(place + 1) : "·"),
        h("span", { class: "action-words" }, this.page.actions[index]),
        h("span", { class: "thought" }),
      ),
    );
  }

  ending() {
    const { page } = this;
    const pays = h(
      "p",
      { class: "pays" },
      `Final reward ${reward(page.reward)}`,
      page.total !== page.reward ? `, ${reward(page.total)} in total` : "",
      ` after ${plural(page.steps, "step")}.`,
    );
    const saveNote = page.recorded
      ? h("p", { class: "small" }, `Saved to the scores of ${page.player}.`)
      : null;
    const why =
      page.stopped && !page.ended
        ? "The game stopped here."
        : page.ending
          ? `The end: ${page.ending}`
          : "The end";
    const place = h("p", { class: "small soft" });
    if (page.ended) this.showPlace(place, page);
    return h(
      "div",
      {},
      h("h2", {}, why),
      pays,
      place,
      saveNote,
      h("button", { type: "button", class: "main", onclick: () => this.restart() }, "Play again"),
    );
  }

  /** Say which of the endings this is, and how many random games end there. */
  async showPlace(element, page) {
    try {
      const { findings } = await factsAbout(this.game, this.signal);
      const test = findings ?? (await get(`/api/tests/${part(this.game.id)}`, this.signal)).report;
      const endings = test?.endings ?? [];
      const named = endings.filter((ending) => ending.name === page.ending);
      const [ending] = named.filter((each) => each.reward === page.reward).concat(named);
      if (!ending) return;
      const better = endings.filter((each) => each.reward > ending.reward).length;
      const order = ["none pays more", "1 of them pays more"][better] ?? `${better} of them pay more`;
      const odds = `${share(ending.probability.mean)} of random games end here`;
      element.textContent = `One of ${plural(endings.length, "ending")}; ${order}. ${odds}.`;
    } catch (error) {
      if (!isAborted(error)) element.textContent = "";
    }
  }

  showBar() {
    const { page } = this;
    show(
      this.bar,
      h(
        "button",
        { type: "button", disabled: page.first, onclick: () => this.undo() },
        "Undo ",
        h("kbd", {}, "u"),
      ),
      h(
        "button",
        { type: "button", onclick: () => this.restart() },
        "Start again ",
        h("kbd", {}, "r"),
      ),
      h(
        "span",
        { class: "soft small steps" },
        `step ${page.steps}`,
        page.undone ? `, ${page.undone} undone` : "",
        page.total ? `, ${reward(page.total)} so far` : "",
      ),
    );
  }

  async choose(index) {
    this.agent.rest();
    const before = this.page;
    await this.ask(
      () => post(`${this.address}/step`, { action: index, steps: before.steps }),
      (page) => this.showStep(before, index, page, "person"),
    );
  }

  /** Go to the page that an action of a person or the agent led to. */
  showStep(before, index, page, by) {
    this.history.push({ text: before.text, actions: before.actions, choice: index, by });
    this.turn(page);
    this.scrollToText();
    if (by === "person") this.text.focus({ preventScroll: true });
    else announce(page.ended ? `${page.text} The end.` : page.text);
  }

  /** Scroll to the text if it is out of sight. */
  scrollToText() {
    const top = this.text.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight * 0.6) {
      this.text.scrollIntoView({ block: "start", behavior: "smooth" });
    }
  }

  async undo() {
    if (!this.page || this.page.first) return;
    this.agent.rest();
    await this.ask(
      () => post(`${this.address}/undo`),
      (page) => {
        this.turn(page, page.history);
        announce(`Undid one step. ${page.text}`);
      },
    );
  }

  async restart() {
    this.agent.rest();
    await this.ask(
      () => post(`${this.address}/restart`),
      (page) => {
        this.turn(page, page.history ?? []);
        announce(`New game. ${page.text}`);
      },
    );
  }

  /** Send one request at a time; start a new session if this one is over. */
  async ask(question, then) {
    if (this.busy) return;
    this.busy = true;
    this.actions.classList.add("busy");
    try {
      then(await question());
    } catch (error) {
      if (error.status === 409) await this.reload();
      else if (error.status === 404) await this.replaceSession();
      else toast(error.message, "bad");
    } finally {
      this.busy = false;
      this.actions.classList.remove("busy");
    }
  }

  /** Show the page on which the game is by now. */
  async reload() {
    const page = await get(this.address);
    this.turn(page, page.history);
  }

  async replaceSession() {
    sessionStorage.removeItem(this.key);
    toast("The server no longer has this game, so a new one was started.");
    const page = await this.create();
    this.turn(page, page.history ?? []);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TEXT_FIELDS)) {
      return;
    }
    const place = "123456789".indexOf(event.key);
    const button = place >= 0 && this.actions.querySelectorAll("button.action")[place];
    if (button) this.choose(Number(button.dataset.index));
    else if (event.key === "u") this.undo();
    else if (event.key === "r") this.restart();
    else if (event.key === "a") this.agent.step();
    else return;
    event.preventDefault();
  }

  /** The form for the player's name. */
  person() {
    const name = h("input", {
      type: "text",
      maxlength: "40",
      autocomplete: "nickname",
      value: recall("player"),
      placeholder: "anonymous",
    });
    const begin = async () => {
      remember("player", name.value.trim());
      sessionStorage.removeItem(this.key);
      await this.ask(
        () => this.create(),
        (page) => this.turn(page, page.history ?? []),
      );
      this.text.focus();
      toast(
        name.value.trim()
          ? `Playing as ${name.value.trim()}: finished games are saved.`
          : "Playing anonymously: scores are not saved.",
      );
    };
    return h(
      "form",
      {
        class: "panel",
        onsubmit: (event) => {
          event.preventDefault();
          begin();
        },
      },
      h("h2", {}, "Player"),
      field("Your name, to save your score", name),
      h("button", { type: "submit" }, "Start a game with this name"),
    );
  }
}
