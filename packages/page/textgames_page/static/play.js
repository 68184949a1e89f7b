// Play: the text of the page, its actions, undo, and what an agent thinks of them.

import { get, isAborted, part, post } from "./api.js";
import { announce, failure, field, h, newSession, recall, remember, show, toast, waiting } from "./dom.js";
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
    Object.assign(this, { body, game, signal, pages: [], busy: false });
    this.key = `page.episode.${game.id}`;
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
      await this.open();
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
            { class: "side", "aria-label": "Beside the story" },
            this.variables.element,
            this.agent.element,
            this.person(),
          ),
        ),
      );
      this.variables.element.open = this.episode.by.includes("path");
      this.turn();
      await this.agent.begin();
    } catch (error) {
      if (!isAborted(error))
        show(
          this.body,
          failure(error, () => this.begin()),
        );
    }
  }

  /** Open the episode of this tab, or a new one. */
  async open() {
    const saved = sessionStorage.getItem(this.key);
    if (saved) {
      try {
        this.episode = JSON.parse(saved);
        this.pages = (await this.request(this.episode.moves, 0)).pages;
        return;
      } catch (error) {
        if (isAborted(error) || error.status === 0) throw error;
      }
    }
    await this.restart();
  }

  /** The pages of an episode of this game, from a number of moves on. */
  request(moves, since) {
    const { session, seed } = this.episode;
    return post(`/api/games/${part(this.game.id)}/pages`, { session, seed, moves, since }, this.signal);
  }

  /** What a question about the page sends. */
  get place() {
    const { session, seed, moves } = this.episode;
    return { session, seed, moves };
  }

  get page() {
    return this.pages.at(-1);
  }

  get steps() {
    return this.episode.moves.filter((move) => typeof move === "number").length;
  }

  /** Take an action, or give variables other values; the server answers with the next page. */
  async move(move, by) {
    const { episode } = this;
    const moves = [...episode.moves, move];
    const { pages } = await this.request(moves, moves.length);
    Object.assign(episode, { moves, by: [...episode.by, by] });
    this.pages.push(...pages);
    if (this.page.ended) await this.score();
    this.save();
  }

  save() {
    sessionStorage.setItem(this.key, JSON.stringify(this.episode));
  }

  /** Save the game of a person who gave a name. */
  async score() {
    const { episode } = this;
    const player = recall("player");
    if (!player || episode.recorded || episode.by.some((by) => by !== "person")) return;
    try {
      const { undone } = episode;
      await post(`/api/games/${part(this.game.id)}/scores`, { ...this.place, player, undone });
      episode.recorded = player;
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  /** Show another page. */
  turn() {
    storyText(this.text, this.page.text);
    this.showPast();
    this.showActions();
    this.showBar();
    this.variables.show();
    // The pressed button was removed, and the focus with it.
    if (document.activeElement === document.body) this.text.focus({ preventScroll: true });
    this.agent.think();
  }

  showPast() {
    const { moves, by } = this.episode;
    const steps = moves.map((move, index) =>
      h(
        "li",
        {},
        h("p", { class: "past-text" }, this.pages[index].text),
        h(
          "p",
          { class: "past-choice" },
          { agent: "The agent: ", path: "Replayed: " }[by[index]] ?? "You: ",
          this.pages[index].actions[move] ?? JSON.stringify(move),
        ),
      ),
    );
    this.past.hidden = !steps.length;
    show(
      this.past,
      h("summary", {}, `The story so far: ${plural(this.steps, "step")}`),
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
      ` after ${plural(this.steps, "step")}.`,
    );
    const saveNote = this.episode.recorded
      ? h("p", { class: "small" }, `Saved to the scores of ${this.episode.recorded}.`)
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
      h("button", { type: "button", class: "main", onclick: () => this.again() }, "Play again"),
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
        { type: "button", disabled: !this.episode.moves.length, onclick: () => this.undo() },
        "Undo ",
        h("kbd", {}, "u"),
      ),
      h(
        "button",
        { type: "button", onclick: () => this.again() },
        "Start again ",
        h("kbd", {}, "r"),
      ),
      h(
        "span",
        { class: "soft small steps" },
        `step ${this.steps}`,
        this.episode.undone ? `, ${this.episode.undone} undone` : "",
        page.total ? `, ${reward(page.total)} so far` : "",
      ),
    );
  }

  async choose(index) {
    this.agent.rest();
    await this.ask(() => this.move(index, "person"), () => this.showStep("person"));
  }

  /** Show the page that an action of a person or the agent led to. */
  showStep(by) {
    const { page } = this;
    this.turn();
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

  undo() {
    const { episode } = this;
    if (this.busy || !episode?.moves.length) return;
    this.agent.rest();
    this.pages.pop();
    const keep = episode.moves.length - 1;
    Object.assign(episode, { moves: episode.moves.slice(0, keep), by: episode.by.slice(0, keep) });
    episode.undone += 1;
    this.save();
    this.turn();
    announce(`Undid one step. ${this.page.text}`);
  }

  async again() {
    this.agent.rest();
    await this.ask(
      () => this.restart(),
      () => {
        this.turn();
        announce(`New game. ${this.page.text}`);
      },
    );
  }

  /** Start a new episode. */
  async restart() {
    this.episode = { session: newSession(), moves: [], by: [], undone: 0 };
    const { seed, pages } = await this.request([], 0);
    this.episode.seed = seed;
    this.pages = pages;
    this.save();
  }

  /** Send one request at a time. */
  async ask(question, then) {
    if (this.busy) return;
    this.busy = true;
    this.actions.classList.add("busy");
    try {
      then(await question());
    } catch (error) {
      if (!isAborted(error)) toast(error.message, "bad");
    } finally {
      this.busy = false;
      this.actions.classList.remove("busy");
    }
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
      await this.ask(() => this.restart(), () => this.turn());
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
