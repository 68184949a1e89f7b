// Play: the story's text, its actions, undo, and beside them what an agent thinks.

import { get, left, part, post } from "./api.js";
import { announce, failure, field, h, remember, remembered, show, toast, waiting } from "./dom.js";
import { counted, reward } from "./format.js";
import { agentPanel } from "./play_agent.js";
import { storyText } from "./story_text.js";

const WRITTEN_IN = "input:not([type=checkbox]), select, textarea"; // where keys are letters

export async function playView(body, game, signal) {
  const view = new Play(body, game, signal);
  await view.begin();
}

/** One game under way in this tab. */
class Play {
  constructor(body, game, signal) {
    Object.assign(this, { body, game, signal, page: null, history: [], busy: false });
    this.key = `drrn.session.${game.id}`;
    this.text = h("div", { class: "story-text", tabindex: "-1" });
    this.actions = h("ol", { class: "actions", "aria-label": "What you can do" });
    this.past = h("details", { class: "past" }, h("summary", {}, "The story so far"));
    this.bar = h("div", { class: "row play-bar" });
    this.agent = agentPanel(this);
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
  }

  async begin() {
    show(this.body, waiting("Opening the story …"));
    try {
      const page = (await this.kept()) || (await this.created());
      show(
        this.body,
        h(
          "div",
          { class: "play" },
          h("article", { class: "sheet", "aria-label": "The story" }, this.past, this.text, this.actions, this.bar),
          h("aside", { class: "side", "aria-label": "The agent, and who plays" }, this.agent.element, this.person()),
        ),
      );
      this.turn(page, page.history);
      this.agent.begin();
    } catch (error) {
      if (!left(error))
        show(
          this.body,
          failure(error, () => this.begin()),
        );
    }
  }

  /** The session of this tab, if the server still has it. */
  async kept() {
    const id = sessionStorage.getItem(this.key);
    if (!id) return null;
    try {
      return await get(`/api/sessions/${part(id)}`, this.signal);
    } catch (error) {
      if (error.code !== "not_found") throw error;
      return null;
    }
  }

  async created() {
    const player = remembered("player") || undefined;
    const page = await post("/api/sessions", { game: this.game.id, player }, this.signal);
    sessionStorage.setItem(this.key, page.session);
    return page;
  }

  get address() {
    return `/api/sessions/${part(this.page.session)}`;
  }

  /** Another page: shown, told, and thought about. */
  turn(page, history = null) {
    this.page = page;
    if (history) this.history = history;
    storyText(this.text, page.text);
    this.showPast();
    this.showActions();
    this.showBar();
    if (document.activeElement === document.body) this.text.focus({ preventScroll: true }); // what was pressed is gone
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
          step.by === "agent" ? "The agent: " : "You: ",
          step.actions[step.chosen] ?? "…",
        ),
      ),
    );
    this.past.hidden = !steps.length;
    show(this.past, h("summary", {}, `The story so far: ${counted(steps.length, "step")}`), h("ol", {}, steps));
  }

  showActions() {
    const { page } = this;
    this.actions.classList.toggle("many", page.actions.length > 9);
    if (page.ended || page.stopped) {
      show(this.actions, h("li", { class: "the-end" }, this.ending()));
      return;
    }
    show(
      this.actions,
      page.actions.map((words, index) =>
        h(
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
            h("span", { class: "key", "aria-hidden": "true" }, index < 9 ? String(index + 1) : "·"),
            h("span", { class: "action-words" }, words),
            h("span", { class: "thought" }),
          ),
        ),
      ),
    );
  }

  ending() {
    const { page } = this;
    const pays = h(
      "p",
      { class: "pays" },
      `Final reward ${reward(page.reward)}`,
      page.total !== page.reward ? `, ${reward(page.total)} in all` : "",
      ` after ${counted(page.steps, "step")}.`,
    );
    const kept = page.recorded ? h("p", { class: "small" }, `Kept among the scores of ${page.player}.`) : null;
    const why =
      page.stopped && !page.ended
        ? "Stopped here: nothing more can be chosen."
        : page.ending
          ? `The end: ${page.ending}`
          : "The end";
    return h(
      "div",
      {},
      h("h2", {}, why),
      pays,
      kept,
      h("button", { type: "button", class: "main", onclick: () => this.restart() }, "Play again"),
    );
  }

  showBar() {
    const { page } = this;
    show(
      this.bar,
      h(
        "button",
        { type: "button", disabled: page.steps === 0, onclick: () => this.undo() },
        "Undo ",
        h("kbd", {}, "u"),
      ),
      h("button", { type: "button", onclick: () => this.restart() }, "Begin again ", h("kbd", {}, "r")),
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
    await this.asked(
      () => post(`${this.address}/step`, { action: index, steps: before.steps }),
      (page) => this.stepped(before, index, page, "person"),
    );
  }

  /** A page came of a page: by a person or by the agent. */
  stepped(before, index, page, by) {
    this.history.push({ text: before.text, actions: before.actions, chosen: index, by });
    this.turn(page);
    this.seen();
    if (by === "person") this.text.focus({ preventScroll: true });
    else announce(page.ended ? `${page.text} The end.` : page.text);
  }

  /** What is new stands in sight. */
  seen() {
    const top = this.text.getBoundingClientRect().top;
    if (top < 0 || top > innerHeight * 0.6) this.text.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  async undo() {
    if (!this.page || this.page.steps === 0) return;
    this.agent.rest();
    await this.asked(
      () => post(`${this.address}/undo`),
      (page) => {
        this.turn(page, page.history);
        announce(`One step back. ${page.text}`);
      },
    );
  }

  async restart() {
    this.agent.rest();
    await this.asked(
      () => post(`${this.address}/restart`),
      (page) => {
        this.turn(page, page.history ?? []);
        announce(`From the beginning. ${page.text}`);
      },
    );
  }

  /** One question at a time; a session that is over begins anew, a page that went on elsewhere is shown. */
  async asked(question, then) {
    if (this.busy) return;
    this.busy = true;
    this.actions.classList.add("busy");
    try {
      then(await question());
    } catch (error) {
      if (error.page) this.turn(await get(this.address));
      else if (error.code === "not_found") await this.lost();
      else toast(error.message, "bad");
    } finally {
      this.busy = false;
      this.actions.classList.remove("busy");
    }
  }

  async lost() {
    sessionStorage.removeItem(this.key);
    toast("That game is over: the server no longer has it. A new one has begun.");
    const page = await this.created();
    this.turn(page, page.history ?? []);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(WRITTEN_IN)) return;
    const index = "123456789".indexOf(event.key);
    if (index >= 0 && this.page && index < this.page.actions.length) this.choose(index);
    else if (event.key === "u") this.undo();
    else if (event.key === "r") this.restart();
    else if (event.key === "a") this.agent.step();
    else return;
    event.preventDefault();
  }

  /** Whose scores count. */
  person() {
    const name = h("input", {
      type: "text",
      maxlength: "40",
      autocomplete: "nickname",
      value: remembered("player"),
      placeholder: "nobody's",
    });
    const begin = async () => {
      remember("player", name.value.trim());
      sessionStorage.removeItem(this.key);
      await this.asked(
        () => this.created(),
        (page) => this.turn(page, page.history ?? []),
      );
      this.text.focus();
      toast(name.value.trim() ? `${name.value.trim()} plays: the score counts.` : "Nobody's score is kept.");
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
      h("h2", {}, "Who plays"),
      field("Your name, if the score shall be kept", name),
      h("button", { type: "submit" }, "Begin a game under this name"),
    );
  }
}
