// Test: run a play-test, watch it, read its report and the map of the story.

import { get, isAborted, part, post, text } from "./api.js";
import { HAS_AGENTS, announce, failure, field, h, nothing, pause, recall, remember, select, show, toast, toggle, waiting } from "./dom.js";
import { runName } from "./format.js";
import { StoryMapView } from "./map.js";
import { drawByAuthor, hasLayout } from "./map_by_author.js";
import { noPage, showPage } from "./map_page.js";
import { playFrom } from "./play_from.js";
import { RulesForm } from "./rules.js";

const SECONDS = [
  ["10", "10 seconds"],
  ["30", "30 seconds"],
  ["120", "2 minutes"],
  ["600", "10 minutes"],
];
const POLL = 500; // milliseconds between two looks at a running test
const WATCH = 2000; // milliseconds between two looks at the story's file
const OWN = ["given", "uploaded"]; // kinds of games that are tested at once, and have a TOML here

export async function testView(body, game, signal) {
  const view = new TestView(body, game, signal);
  await view.begin();
}

/** Elements of HTML that the server's templates wrote. */
function markup(words) {
  const page = new DOMParser().parseFromString(words, "text/html");
  return [...page.body.childNodes].map((node) => document.importNode(node, true));
}

class TestView {
  constructor(body, game, signal) {
    Object.assign(this, { body, game, signal, run: "", address: `/api/tests/${part(game.id)}` });
    this.seconds = select(SECONDS, recall("seconds", "30"), (value) => remember("seconds", value));
    this.start = h(
      "button",
      { type: "button", class: "main", onclick: () => this.launch() },
      "Run the play-test",
    );
    this.stop = h(
      "button",
      { type: "button", hidden: true, onclick: () => this.halt() },
      "Stop and show the report",
    );
    this.state = h("div", { class: "test-state" });
    this.above = h("div", {});
    this.map = h("div", {});
    this.rules = h("div", {});
    this.report = h("div", { class: "report" });
  }

  async begin() {
    show(
      this.body,
      h(
        "div",
        { class: "test-bar" },
        h(
          "p",
          { class: "soft" },
          "A play-test explores the story: what can be reached, how likely each ending is, where it breaks, and whether the expectations in its TOML hold.",
        ),
        h("div", { class: "row" }, field("Time limit", this.seconds), this.start, this.stop),
      ),
      this.state,
      this.above,
      this.map,
      this.rules,
      this.report,
    );
    show(this.state, waiting("Looking for an earlier play-test …"));
    try {
      await this.watch(await get(this.address, this.signal));
    } catch (error) {
      if (error.status === 404 && OWN.includes(this.game.kind)) await this.launch();
      else if (error.status === 404)
        show(
          this.state,
          nothing(
            "This story has not been tested yet. Press the button above; most stories take seconds.",
          ),
        );
      else if (!isAborted(error))
        show(
          this.state,
          failure(error, () => this.begin()),
        );
    }
  }

  async launch() {
    this.watching = (this.watching || 0) + 1; // ends the watch of the file
    this.start.disabled = true;
    for (const part of [this.above, this.map, this.rules, this.report]) show(part);
    show(this.state, waiting("Starting …"));
    try {
      await this.watch(await post(this.address, { seconds: Number(this.seconds.value) }));
    } catch (error) {
      if (!isAborted(error)) this.showFailure(error);
    }
  }

  /** Show the progress until the test is over, then its report. */
  async watch(test) {
    if (test.status === "running") {
      this.start.disabled = true;
      this.stop.hidden = this.stop.disabled = false;
      announce("The play-test is running.");
    }
    while (test.status === "running") {
      show(
        this.state,
        h(
          "p",
          { class: "state" },
          h("span", { class: "spinner", "aria-hidden": "true" }),
          h("span", { class: "number" }, `${Math.round(test.elapsed)} s`),
          ` of at most ${test.seconds} s: ${test.progress}`,
        ),
      );
      await pause(POLL, this.signal);
      test = await get(this.address, this.signal);
    }
    await this.showReport(test);
  }

  showFailure(error) {
    this.start.disabled = false;
    this.stop.hidden = true;
    show(
      this.state,
      failure(error, () => this.launch()),
    );
  }

  async halt() {
    this.stop.disabled = true;
    try {
      await post(`${this.address}/stop`);
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async showReport(test) {
    show(this.start, "Test again");
    if (test.status === "failed") {
      this.showFailure(new Error(test.error));
      if (this.game.kind === "given") this.watchFile();
      return;
    }
    this.start.disabled = false;
    this.stop.hidden = true;
    show(this.state, waiting("Loading the report …"));
    try {
      const report = await text(`${this.address}/report.html`, this.signal);
      this.insert(report);
      show(this.state);
      announce("The report is ready.");
      if (OWN.includes(this.game.kind)) {
        this.form = new RulesForm(this.game, test.report, () => this.launch());
        show(this.rules, this.form.element);
      }
      await this.drawMap();
      if (this.game.kind === "given") this.watchFile();
    } catch (error) {
      if (!isAborted(error))
        show(
          this.state,
          failure(error, () => this.showReport(test)),
        );
    }
  }

  /** Test again when the story's file has changed. */
  async watchFile() {
    const number = this.watching || 0;
    while (!this.signal.aborted) {
      await pause(WATCH, this.signal);
      if (this.signal.aborted || (this.watching || 0) !== number) return;
      if (this.form?.saving.disabled) continue;
      try {
        const test = await get(this.address, this.signal);
        if (test.stale && test.status !== "running") {
          toast("The story's file has changed, so it is tested again.");
          this.launch();
          return;
        }
      } catch {
        return; // the server has stopped, or the view was left
      }
    }
  }

  /** Insert the report; the server's template escapes everything that a story says. */
  insert(words) {
    show(this.report, markup(words));
    for (const it of this.report.querySelectorAll(".play-it")) {
      it.replaceWith(this.playButton(JSON.parse(it.dataset.path), "▶ play it"));
    }
    show(this.above, this.report.querySelector(".report-head")); // followed by the map and the rest
  }

  async drawMap() {
    show(this.map, waiting("Drawing the map …"));
    try {
      const [drawing, data, { runs }] = await Promise.all([
        text(`${this.address}/map.svg`, this.signal),
        get(`${this.address}/map`, this.signal),
        get(`/api/runs?game=${part(this.game.id)}`, this.signal),
      ]);
      this.data = data;
      this.panel = h("div", { class: "map-page", "aria-live": "polite" }, noPage(data.noun));
      this.view = new StoryMapView(drawing, data.pages, data.noun, (number) => this.look(number));
      show(
        this.map,
        h(
          "section",
          { class: "map-section" },
          h(
            "div",
            { class: "map-head" },
            h("h2", {}, "Map"),
            hasLayout(data) ? this.layouts() : null,
            this.agents(runs.filter((run) => run.ready)),
          ),
          h("div", { class: "map-and-page" }, this.view.element, this.panel),
          markup(data.legend),
        ),
      );
      this.link(data.pages);
    } catch (error) {
      if (!isAborted(error))
        show(
          this.map,
          failure(error, () => this.drawMap()),
        );
    }
  }

  /** The switch to the layout that the author drew in Twine. */
  layouts() {
    const { drawing } = this.view;
    const byAuthor = drawByAuthor(drawing, this.data);
    const change = (isOn) => this.view.insert(isOn ? byAuthor : drawing);
    const control = toggle("Your layout in Twine", "author-layout", change);
    if (control.box.checked) change(true);
    return control.element;
  }

  /** The choice of the agent whose odds are compared with random and best play. */
  agents(runs) {
    if (!HAS_AGENTS) return null;
    if (!runs.length)
      return h("p", { class: "small soft" }, "Train an agent to compare its odds as well.");
    this.run = runs[0].id;
    const choose = select([
      ...runs.map((run) => [run.id, runName(run)]),
      ["", "no agent"],
    ], this.run, (value) => {
      this.run = value;
      if (this.pageNumber !== undefined) this.look(this.pageNumber);
    });
    return h("label", { class: "map-agent" }, "Agent ", choose);
  }

  /** Show a page; cancel one that is still loading. */
  look(number) {
    this.pageNumber = number;
    this.reading?.abort();
    this.reading = new AbortController();
    this.signal.addEventListener("abort", () => this.reading.abort(), { once: true });
    const go = (other) => {
      this.view.go(other);
      this.look(other);
    };
    const { label } = this.data.pages[number];
    const buttons = (path) => [
      path ? this.playButton(path, "▶ Play from here") : null,
      " ",
      this.form?.button({ reachable: label }),
    ];
    const { signal } = this.reading;
    showPage(this.panel, this.address, this.data, number, this.run, go, buttons, signal);
    if (matchMedia("(max-width: 60rem)").matches) {
      this.panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
  }

  /** A button that opens the player where a path leads. */
  playButton(path, words) {
    const button = h(
      "button",
      { type: "button", class: "play-from", onclick: () => playFrom(this.game, path, button) },
      words,
    );
    return button;
  }

  /** Link the names of passages in the report to the map. */
  link(pages) {
    const numbers = new Map(pages.map((page) => [page.label, page.page]));
    for (const name of this.body.querySelectorAll("[data-passage]")) {
      const number = numbers.get(name.dataset.passage);
      if (number === undefined) continue;
      const button = h(
        "button",
        {
          type: "button",
          class: "as-link",
          title: "Show on the map",
          onclick: () => {
            this.map.scrollIntoView({ block: "start", behavior: "smooth" });
            this.view.go(number);
            this.look(number);
          },
        },
        name.textContent,
      );
      name.replaceWith(button);
    }
  }
}
