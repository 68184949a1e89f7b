// The embeddings of a page and its actions after each round, on their two principal axes.

import { get, isAborted, part } from "./api.js";
import { failure, field, h, nothing, pause, s, select, show, waiting } from "./dom.js";
import { number } from "./format.js";

const SIZE = 420;

/** The section for one run; it is loaded again after each round. */
export class Embeddings {
  constructor(signal) {
    Object.assign(this, { signal, run: null, page: 0, index: -1, playing: null });
    this.body = h("div", { class: "embeddings" });
    this.element = h(
      "section",
      {},
      h("h2", {}, "How the embeddings move"),
      h(
        "p",
        { class: "soft" },
        "The embeddings of a page and its actions in the agent's first replica, after each round. Q is their inner product, so an action that points in the same direction as the page has a high Q.",
      ),
      this.body,
    );
  }

  async show(run) {
    if (!run) {
      show(this.body, nothing("Choose a run to see its embeddings."));
      return;
    }
    if (this.run !== run) Object.assign(this, { run, page: 0, index: -1, last: -1 });
    if (!this.body.children.length) show(this.body, waiting("Loading the embeddings …"));
    try {
      const data = await get(`/api/runs/${part(run)}/embeddings/${this.page}`, this.signal);
      if (this.run === run) this.draw(data);
    } catch (error) {
      if (isAborted(error)) return;
      show(
        this.body,
        error.status === 404 ? nothing(error.message) : failure(error, () => this.show(run)),
      );
    }
  }

  draw(data) {
    this.data = data;
    if (!data.rounds.length) {
      show(this.body, nothing("The first round has not finished yet."));
      return;
    }
    const last = data.rounds.length - 1;
    // Show the last round while a run is training.
    if (this.index < 0 || this.index >= this.last) this.index = last;
    this.last = last;
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(last),
      value: String(this.index),
      "aria-label": "Round",
      oninput: () => {
        this.index = Number(this.slider.value);
        this.frame();
      },
    });
    this.caption = h("span", { class: "number small" });
    this.button = h("button", { type: "button", onclick: () => this.play() }, "Animate");
    this.picture = h("div", { class: "plane" });
    this.legend = h("ol", { class: "plane-actions" });
    const pages = select(
      data.pages.map((text, index) => [String(index), text]),
      String(data.page),
      (value) => {
        this.page = Number(value);
        this.show(this.run);
      },
    );
    show(
      this.body,
      field("Page", pages),
      h(
        "div",
        { class: "plane-and-legend" },
        this.picture,
        h(
          "div",
          {},
          h("div", { class: "row" }, this.button, this.slider, this.caption),
          this.legend,
        ),
      ),
    );
    this.frame();
  }

  frame() {
    const { data } = this;
    const round = data.rounds[this.index];
    const reach =
      1.15 *
      Math.max(
        1e-9,
        ...data.rounds
          .flatMap((one) =>
            [...one.state, ...one.actions.flatMap((action) => [action.x, action.y])])
          .map(Math.abs),
      );
    const toPixels = ([x, y]) =>
      [SIZE / 2 + (x / reach) * (SIZE / 2), SIZE / 2 - (y / reach) * (SIZE / 2)];
    const qs = round.actions.map((action) => action.q);
    const best = qs.indexOf(Math.max(...qs));
    const trail = (points) =>
      s("polyline", {
        class: "trail",
        points: points
          .map((point) =>
            toPixels(point)
              .map((value) => value.toFixed(1))
              .join(","),
          )
          .join(" "),
      });
    const before = data.rounds.slice(0, this.index + 1);
    show(
      this.picture,
      s(
        "svg",
        {
          viewBox: `0 0 ${SIZE} ${SIZE}`,
          role: "img",
          "aria-label": `After round ${round.round}: action ${best + 1} has the highest Q`,
        },
        s("line", { class: "grid", x1: 0, x2: SIZE, y1: SIZE / 2, y2: SIZE / 2 }),
        s("line", { class: "grid", x1: SIZE / 2, x2: SIZE / 2, y1: 0, y2: SIZE }),
        s(
          "g",
          { class: "of-state" },
          trail(before.map((one) => one.state)),
          arrow(toPixels(round.state)),
          label(toPixels(round.state), "page"),
        ),
        round.actions.map((action, index) =>
          s(
            "g",
            { class: index === best ? "of-action best" : "of-action" },
            trail(before.map((one) => [one.actions[index].x, one.actions[index].y])),
            arrow(toPixels([action.x, action.y])),
            label(toPixels([action.x, action.y]), String(index + 1)),
          ),
        ),
      ),
    );
    this.caption.textContent = `round ${round.round}`;
    show(
      this.legend,
      data.actions.map((words, index) =>
        h(
          "li",
          { class: index === best ? "best" : null },
          words,
          h("span", { class: "number soft" }, ` Q ${number(round.actions[index].q)}`),
        ),
      ),
    );
  }

  async play() {
    if (this.playing) {
      this.playing.abort();
      return;
    }
    const playing = (this.playing = new AbortController());
    this.signal.addEventListener("abort", () => playing.abort(), { once: true });
    show(this.button, "Stop");
    for (let index = 0; index < this.data.rounds.length && !playing.signal.aborted; index += 1) {
      this.index = index;
      this.slider.value = String(index);
      this.frame();
      await pause(Math.min(700, 6000 / this.data.rounds.length), playing.signal);
    }
    this.playing = null;
    show(this.button, "Animate");
  }
}

function arrow([x, y]) {
  return [
    s("line", { class: "arrow", x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y }),
    s("circle", { class: "tip", cx: x, cy: y, r: 5 }),
  ];
}

function label([x, y], words) {
  const right = x < SIZE - 50;
  return s(
    "text",
    {
      x: right ? x + 9 : x - 9,
      y: Math.min(SIZE - 6, Math.max(14, y + 4)),
      "text-anchor": right ? "start" : "end",
    },
    words,
  );
}
