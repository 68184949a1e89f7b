// Learn: start, watch, stop, resume and compare training runs.

import { get, isAborted, part, post, remove } from "./api.js";
import { announce, failure, field, h, nothing, pause, select, show, toast, waiting } from "./dom.js";
import { COLOURS, drawCurves, tableOf } from "./curve.js";
import { Learning } from "./learning.js";
import { BUSY, STATES, progressWords, runRow } from "./run_row.js";
import { settingsForm } from "./settings_form.js";

const RECIPES = [
  ["strong", "strong: learns fastest"],
  ["paper", "paper: as in He et al. (2016)"],
];
const POLICIES = [
  ["best", "best"],
  ["softmax", "softmax"],
  ["greedy", "greedy"],
];

const POLL = 700; // milliseconds between two looks at a run that is training

export async function learnView(body, game, signal) {
  await new Learn(body, game, signal).begin();
}

class Learn {
  constructor(body, game, signal) {
    Object.assign(this, {
      body,
      game,
      signal,
      runs: new Map(),
      chosen: new Set(),
      colours: new Map(),
      policy: "best",
    });
    this.form = h("div", {});
    this.formBox = h(
      "details",
      { class: "panel learn-form", open: true },
      h("summary", {}, "Train an agent"),
      this.form,
    );
    this.picture = h("div", { class: "curve-box" });
    this.now = h("div", { class: "small soft number" });
    this.list = h("div", {});
    this.numbers = h(
      "details",
      { ontoggle: () => this.draw() },
      h("summary", {}, "Table"),
      h("div", {}),
    );
    this.settings = h("details", {}, h("summary", {}, "Settings of these runs"), h("div", {}));
    this.learning = new Learning(signal);
  }

  async begin() {
    const policy = select(POLICIES, this.policy, (value) => {
      this.policy = value;
      this.draw();
    });
    show(
      this.body,
      h(
        "div",
        { class: "learn" },
        h(
          "div",
          { class: "learn-main" },
          h(
            "section",
            {},
            h(
              "div",
              { class: "map-head" },
              h("h2", {}, "Learning curves"),
              h("label", { class: "map-agent" }, "Played by ", policy),
            ),
            this.picture,
            this.now,
            this.numbers,
            this.settings,
          ),
          h("section", {}, h("h2", {}, "Runs"), this.list),
          this.learning.element,
        ),
        h("aside", { class: "side", "aria-label": "A new run" }, this.formBox),
      ),
    );
    this.draw();
    new ResizeObserver(() => this.draw()).observe(this.body);
    show(this.list, waiting("Loading runs …"));
    await Promise.all([this.showForm("strong"), this.load()]);
  }

  async load() {
    try {
      const { runs } = await get(`/api/runs?game=${part(this.game.id)}`, this.signal);
      for (const run of runs) this.update(run);
      const hasRecord = (run) => run.ready || BUSY.includes(run.state);
      const first = runs.find(hasRecord) ?? runs[0];
      if (first) await this.choose(first.id, true);
      this.showList();
      this.learning.show(this.runs.get(first?.id));
    } catch (error) {
      if (!isAborted(error))
        show(
          this.list,
          failure(error, () => this.load()),
        );
    }
  }

  async showForm(recipe) {
    show(this.form, waiting("Loading the settings …"));
    try {
      const { settings } = await get(
        `/api/settings?game=${part(this.game.id)}&recipe=${recipe}`,
        this.signal,
      );
      const fields = settingsForm(settings);
      const start = h("button", { type: "submit", class: "main" }, "Start");
      const name = h("input", { type: "text", maxlength: "60", placeholder: "optional" });
      show(
        this.form,
        h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              this.launch(recipe, fields, name.value.trim(), start);
            },
          },
          field(
            "Recipe",
            select(RECIPES, recipe, (value) => this.showForm(value)),
          ),
          fields.first,
          field("Name of the run", name),
          start,
          fields.more,
        ),
      );
    } catch (error) {
      if (!isAborted(error))
        show(
          this.form,
          failure(error, () => this.showForm(recipe)),
        );
    }
  }

  async launch(recipe, fields, title, button) {
    button.disabled = true;
    this.picture.scrollIntoView({ block: "center", behavior: "smooth" });
    try {
      const run = await post("/api/runs", {
        game: this.game.id,
        recipe,
        settings: fields.changes(),
        title,
      });
      this.update(run);
      this.runs.get(run.id).since = Date.now();
      announce("A run has started.");
      await this.choose(run.id, true);
      this.learning.show(this.runs.get(run.id));
    } catch (error) {
      toast(error.message, "bad");
    } finally {
      button.disabled = false;
    }
  }

  /** Merge new data of a run into the old data, and follow the run while it is training. */
  update(run) {
    const previous = this.runs.get(run.id) || { curve: [] };
    const curve = new Map(
      [...previous.curve, ...(run.curve || [])].map((point) => [point.round, point]),
    );
    this.runs.set(run.id, { ...previous, ...run, curve: [...curve.values()] });
    if (BUSY.includes(run.state) && !previous.isFollowed) this.follow(run.id);
  }

  /** Load what is new until the run ends. */
  async follow(id) {
    this.runs.get(id).isFollowed = true;
    try {
      while (BUSY.includes(this.runs.get(id)?.state)) {
        await pause(POLL, this.signal);
        const before = this.runs.get(id);
        if (!before) return;
        const run = await get(
          `/api/runs/${part(id)}/after/${before.curve.at(-1)?.round ?? 0}`,
          this.signal,
        );
        this.update(run);
        this.refresh();
        if (run.curve.length && this.learning.run?.id === id) this.learning.show(this.runs.get(id));
      }
      announce(`${this.runs.get(id)?.title || id}: ${STATES[this.runs.get(id)?.state] || "finished"}.`);
    } catch (error) {
      if (error.status === 404) this.forget(id);
      if (!isAborted(error)) toast(error.message, "bad");
    }
    if (this.runs.has(id)) this.runs.get(id).isFollowed = false;
  }

  forget(id) {
    this.runs.delete(id);
    this.chosen.delete(id);
    this.refresh();
  }

  refresh() {
    this.showList();
    this.draw();
  }

  /** Draw the curve of a run, or stop drawing it. */
  async choose(id, on) {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    if (on && !this.colours.has(id)) this.colours.set(id, this.colours.size % COLOURS);
    this.refresh();
    if (!on) return;
    try {
      this.update(await get(`/api/runs/${part(id)}/after/0`, this.signal));
      this.refresh();
    } catch (error) {
      if (!isAborted(error)) toast(error.message, "bad");
    }
  }

  draw() {
    const runs = [...this.chosen].map((id) => ({
      ...this.runs.get(id),
      colour: this.colours.get(id),
      words: this.progress(this.runs.get(id)),
    }));
    if (!runs.length)
      show(
        this.picture,
        nothing(
          "No run is selected. Start one, or select one below: its curve grows here during training.",
        ),
      );
    else drawCurves(this.picture, runs, this.policy);
    const busy = runs.some((run) => run.curve.length) ? runs.filter((run) => run.words) : [];
    show(this.now, busy.map((run) => h("p", {}, `${run.title || run.id}: ${run.words}`)));
    if (this.numbers.open) {
      show(this.numbers.lastElementChild, runs.length ? tableOf(runs, this.policy) : "");
    }
    this.settings.hidden = !runs.length;
    show(this.settings.lastElementChild, settingsTable(runs));
  }

  /** What a run does until its first round is over. */
  progress(run) {
    if (!BUSY.includes(run.state)) return "";
    const seconds = run.since ? `${Math.round((Date.now() - run.since) / 1000)} s: ` : "";
    return `${seconds}${progressWords(run)} …`;
  }

  showList() {
    if (!this.runs.size) {
      show(
        this.list,
        nothing(
          "There are no runs of this game yet. Start one with the form on this page; the defaults are good.",
        ),
      );
      return;
    }
    // The list is replaced, possibly while a button in it has the focus.
    const focusKey = document.activeElement?.dataset?.key;
    const runs = [...this.runs.values()].sort((a, b) => (a.when < b.when ? 1 : -1));
    show(
      this.list,
      h(
        "ul",
        { class: "runs" },
        runs.map((run) => runRow(run, this.colours.get(run.id), this.chosen.has(run.id), this)),
      ),
    );
    if (focusKey) this.list.querySelector(`[data-key="${CSS.escape(focusKey)}"]`)?.focus();
  }

  async showLearning(run) {
    await this.choose(run.id, true);
    this.learning.show(this.runs.get(run.id));
    this.learning.element.scrollIntoView({ behavior: "smooth" });
    this.learning.element.querySelector("h2").focus({ preventScroll: true });
  }

  async rename(run) {
    const title = prompt("Name of the run", run.title || run.id);
    if (title !== null) await this.send(run, "title", { title: title.slice(0, 60) });
  }

  /** Continue a finished run with more rounds. */
  async more(run) {
    const question =
      `${run.title || run.id} has finished its ${run.rounds} rounds. How many rounds should it have in total?`;
    const rounds = prompt(question, String(2 * run.rounds));
    if (rounds) await this.send(run, "resume", { rounds: Number(rounds) });
  }

  async send(run, action, body = {}) {
    try {
      this.update(await post(`/api/runs/${part(run.id)}/${action}`, body));
      this.refresh();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async removeRun(run) {
    if (!confirm(`Delete the run ${run.title || run.id} and its agent?`)) return;
    try {
      await remove(`/api/runs/${part(run.id)}`);
      this.forget(run.id);
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}

/** The settings of runs; those that differ come first. */
function settingsTable(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings || {})))];
  const texts = (name) => runs.map((run) => String(run.settings?.[name] ?? "none"));
  const differs = (name) => new Set(texts(name)).size > 1;
  const rows = [...names.filter(differs), ...names.filter((name) => !differs(name))];
  if (!rows.length) return null;
  return h(
    "div",
    { class: "scroll settings-table", tabindex: "0", role: "region", "aria-label": "Settings" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Setting"),
          runs.map((run) => h("th", { scope: "col" }, run.title || run.id)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((name) =>
          h(
            "tr",
            { class: differs(name) ? "differs" : null },
            h("th", { scope: "row" }, name.replaceAll("_", " ")),
            texts(name).map((text) => h("td", {}, text)),
          ),
        ),
      ),
    ),
  );
}
