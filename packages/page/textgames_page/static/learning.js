// How a run learned: Q of a page over rounds, positions, endings, exploration, error, games.

import { get, isAborted, part } from "./api.js";
import { failure, field, h, nothing, pause, select, show, waiting } from "./dom.js";
import { drawLines, drawPositions, drawShares, shorten } from "./chart.js";
import { number, plural, reward } from "./format.js";
import { BUSY } from "./run_row.js";

const MAX_BANDS = 6; // endings with their own colour

/** The section of one run; it is loaded again after each round. */
export class Learning {
  constructor(signal) {
    Object.assign(this, { signal, run: null, page: 0, index: null, game: null, playing: null });
    this.body = h("div", { class: "learning" });
    this.element = h("section", {}, h("h2", { tabindex: "-1" }, "How it learned"), this.body);
    new ResizeObserver(() => this.redraw()).observe(this.body);
  }

  async show(run) {
    if (!run) {
      show(this.body, nothing("Start a run, or choose one, to see how it learned."));
      return;
    }
    if (this.run?.id !== run.id) Object.assign(this, { page: 0, index: null, game: null, record: null });
    this.run = run;
    if (BUSY.includes(run.state) && !run.rounds_done) {
      show(this.body, nothing("The first round has not finished yet."));
      return;
    }
    if (!this.record) show(this.body, waiting("Loading what the run has recorded …"));
    try {
      const record = await get(`/api/runs/${part(run.id)}/learning`, this.signal);
      if (this.run.id === run.id) this.fill(record);
    } catch (error) {
      if (isAborted(error)) return;
      show(
        this.body,
        error.status === 404 ? nothing(error.message) : failure(error, () => this.show(run)),
      );
    }
  }

  fill(record) {
    const isNew = !this.record;
    this.record = record;
    this.pictures = {};
    const picture = (name, title, words, ...before) => {
      this.pictures[name] = h("div", { class: "picture" });
      return h("div", { class: "lesson" }, h("h3", {}, title), h("p", { class: "small soft" }, words), before, this.pictures[name]);
    };
    const { pages, rounds } = record;
    const choice = pages.length > 1 && field("Page", this.pageChoice());
    show(
      this.body,
      h("p", { class: "soft" }, `${this.run.title || this.run.id}: recorded after ${plural(rounds.length, "round")}.`),
      pages.length ? [choice, h("blockquote", { class: "page-text" }, shorten(pages[this.page].text, 320))] : null,
      pages.length
        ? picture("q", "What it expects of each action", "Q of the actions of this page after each round, the mean over replicas.")
        : null,
      rounds.at(-1)?.norm
        ? picture(
            "positions",
            "Page and actions as vectors",
            "Page and actions are read into vectors, and Q is their inner product. To the right is the direction of the page: the farther right an action ends, the higher its Q. Up and down is the direction in which the actions differ most otherwise. First replica.",
            this.sliderRow(),
          )
        : null,
      picture("endings", "Where its games end", "Share of each ending among the softmax policy's games after each round."),
      picture(
        "exploration",
        "Exploring and exploiting",
        "Mean return of the games that it plays to learn, and of its games by the best policy. Rounds in grey explore by optimism: untried actions are assumed to be good.",
      ),
      h("div", { class: "pair" }, [
        picture("greedy", "How often it follows its own judgement", "Probability that the softmax policy takes the action with the highest Q, over the pages above."),
        rounds.some((round) => round.error !== null)
          ? picture("error", "Error", "Root mean square of the difference between Q and its target in the last updates of each round.")
          : null,
      ]),
      record.games.length ? this.games() : null,
    );
    this.redraw();
    if (isNew) this.game = null;
  }

  pageChoice() {
    return select(
      this.record.pages.map((page, index) => [String(index), shorten(page.text, 70)]),
      String(this.page),
      (value) => {
        this.page = Number(value);
        this.fill(this.record);
      },
    );
  }

  sliderRow() {
    const last = this.record.rounds.length - 1;
    const index = Math.min(this.index ?? last, last);
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(last),
      "aria-label": "Round",
      oninput: () => {
        this.index = Number(this.slider.value);
        this.drawPositions();
      },
    });
    this.slider.value = String(index); // after the maximum
    this.caption = h("span", { class: "number small" });
    this.button = h("button", { type: "button", onclick: () => this.animate() }, "Animate");
    return h("div", { class: "row" }, this.button, this.slider, this.caption);
  }

  redraw() {
    if (!this.record?.rounds.length || !this.pictures) return;
    const { pages, rounds } = this.record;
    const drawing = this.pictures;
    if (drawing.q) {
      drawLines(drawing.q, {
        lines: linesOfQ(this.record, this.page),
        label: `Q of ${plural(pages[this.page].actions.length, "action")} over rounds`,
      });
    }
    this.drawPositions();
    drawShares(drawing.endings, { bands: bandsOf(this.run.curve || []), label: "Shares of endings over rounds" });
    const column = (name) => rounds.filter((round) => round[name] !== null).map((round) => [round.round, round[name]]);
    drawLines(drawing.exploration, {
      lines: [
        { name: "games to learn", points: column("played"), colour: 1 },
        {
          name: "games by the best policy",
          points: (this.run.curve || []).map((point) => [point.round, point.best_return]),
          colour: 0,
        },
      ],
      shaded: optimistic(rounds),
      label: "Returns while exploring and while exploiting",
    });
    drawLines(drawing.greedy, {
      lines: [{ name: "highest Q", points: column("greedy"), colour: 0 }],
      y: [0, 1],
      shaded: optimistic(rounds),
      height: 190,
      label: "Probability of the action with the highest Q",
    });
    if (drawing.error) {
      drawLines(drawing.error, {
        lines: [{ name: "error", points: column("error"), colour: 3 }],
        height: 190,
        label: "Error over rounds",
      });
    }
  }

  drawPositions() {
    if (!this.pictures.positions) return;
    const index = Number(this.slider.value);
    const { pages, rounds } = this.record;
    drawPositions(this.pictures.positions, { names: pages[this.page].actions, rounds, page: this.page, index });
    this.caption.textContent = `round ${rounds[index].round}`;
  }

  async animate() {
    if (this.playing) {
      this.playing.abort();
      return;
    }
    const playing = (this.playing = new AbortController());
    this.signal.addEventListener("abort", () => playing.abort(), { once: true });
    show(this.button, "Stop");
    const count = this.record.rounds.length;
    for (let index = 0; index < count && !playing.signal.aborted; index += 1) {
      this.slider.value = String(index);
      this.drawPositions();
      await pause(Math.min(700, 6000 / count), playing.signal);
    }
    this.playing = null;
    show(this.button, "Animate");
  }

  /** The same game at random and after some rounds. */
  games() {
    const { games } = this.record;
    const box = h("div", {});
    const draw = (index) => show(box, gameText(this.record, games[index]));
    const names = games.map((game, index) => [String(index), gameName(game)]);
    const start = String(this.game ?? games.length - 1);
    const choose = select(names, start, (value) => {
      this.game = Number(value);
      draw(this.game);
    });
    draw(Number(start));
    return h(
      "div",
      { class: "lesson" },
      h("h3", {}, "The same game, replayed"),
      h("p", { class: "small soft" }, "A game with the same seed, played at random and by the agent (policy best) after some rounds."),
      field("Played", choose),
      box,
    );
  }
}

export function gameName(game) {
  const by = game.round ? `after round ${game.round}` : "at random";
  return `${by}: ${game.ending || "not finished"}, return ${reward(game.return)}`;
}

function gameText({ texts }, game) {
  const steps = h(
    "ol",
    {},
    game.steps.map((step) =>
      h(
        "li",
        {},
        h("p", { class: "past-text" }, shorten(texts[step.text], 400)),
        h("p", { class: "past-choice" }, texts[step.taken], h("span", { class: "soft small" }, ` (one of ${step.of})`)),
      ),
    ),
    h("li", {}, h("p", { class: "past-text" }, shorten(texts[game.end], 400))),
  );
  return h(
    "div",
    { class: "replay", tabindex: "0", role: "region", "aria-label": "Replay" },
    steps,
  );
}

export function linesOfQ({ pages, rounds }, page) {
  return pages[page].actions.map((name, index) => ({
    name,
    mark: String(index + 1),
    colour: index,
    points: rounds.map((round) => [round.round, round.q[page][index]]),
  }));
}

/** Shares of the most frequent endings over rounds, the others as one band. */
export function bandsOf(curve) {
  const totals = new Map();
  const perRound = curve.map(({ round, replicas }) => {
    const shares = new Map();
    for (const { endings } of replicas) {
      for (const [name, share] of Object.entries(endings)) {
        shares.set(name, (shares.get(name) || 0) + share / replicas.length);
        totals.set(name, (totals.get(name) || 0) + share);
      }
    }
    return [round, shares];
  });
  const names = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const own = names.slice(0, MAX_BANDS);
  const bands = own.map((name) => ({
    name,
    shares: perRound.map(([round, shares]) => [round, shares.get(name) || 0]),
  }));
  const rest = perRound.map(([round], i) =>
    [round, Math.max(0, 1 - bands.reduce((sum, band) => sum + band.shares[i][1], 0))]);
  if (rest.some(([, share]) => share > 0.001)) bands.push({ name: "others", shares: rest });
  return bands;
}

/** Ranges of rounds that explore by optimism. */
function optimistic(rounds) {
  const last = rounds.filter((round) => round.optimism).at(-1);
  return last ? [[rounds[0].round, last.round]] : [];
}
