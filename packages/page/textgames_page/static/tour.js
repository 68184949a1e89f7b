// The tour: in five steps, how an agent learned The Long Watch, from a recorded run (scripts/tour).

import { get } from "./api.js";
import { announce, h, pause, show } from "./dom.js";
import { drawCurves } from "./curve.js";
import { drawLines, drawShares } from "./chart.js";
import { number, reward, share } from "./format.js";
import { bandsOf, linesOfQ } from "./learning.js";
import { storyText } from "./story_text.js";

const SECONDS = 15; // of each step
const HOLD = 0.25; // share of them after the last frame

export async function tourView(body, signal) {
  const data = await get("/static/tour.json", signal);
  new Tour(body, data, signal).begin();
}

class Tour {
  constructor(body, data, signal) {
    Object.assign(this, { body, data, signal, index: 0, playing: null });
    this.steps = stepsOf(data);
    this.title = h("h2", { tabindex: "-1" });
    this.caption = h("p", { class: "tour-caption" });
    this.picture = h("div", { class: "picture tour-picture" });
    this.bar = h("progress", { max: "1", value: 0, "aria-label": "Progress of the tour" });
    this.button = h("button", { type: "button", class: "main", onclick: () => this.toggle() });
    this.back = h("button", { type: "button", onclick: () => this.go(this.index - 1) }, "Back");
    this.next = h("button", { type: "button", onclick: () => this.go(this.index + 1) }, "Next");
    this.after = h(
      "p",
      { class: "row" },
      h("a", { class: "button", href: "#/game/long-watch/play" }, "Play The Long Watch yourself"),
      h("a", { class: "button", href: "#/game/long-watch/learn" }, "Train an agent on it"),
    );
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  begin() {
    show(
      this.body,
      h(
        "p",
        { class: "lead" },
        "An agent learns a story by playing it; only the scores of its games show what is good. Five steps, 75 seconds.",
      ),
      h(
        "div",
        { class: "tour" },
        this.bar,
        h("div", { class: "row" }, this.button, this.back, this.next),
        this.title,
        this.caption,
        this.picture,
        this.after,
      ),
    );
    this.go(0);
  }

  get step() {
    return this.steps[this.index];
  }

  /** Show a step as a whole; if the tour is playing, it goes on from there. */
  go(index) {
    const isPlaying = Boolean(this.playing);
    this.playing?.abort();
    this.playing = null;
    this.index = Math.min(Math.max(index, 0), this.steps.length - 1);
    this.frame = this.step.frames;
    this.showStep();
    if (isPlaying) this.play();
  }

  showStep() {
    show(this.title, `${this.index + 1}. ${this.step.title}`);
    show(this.caption, this.step.caption);
    show(this.button, this.playing ? "Pause" : "Play the tour");
    this.back.disabled = this.index === 0;
    this.next.disabled = this.index === this.steps.length - 1;
    this.after.hidden = this.index < this.steps.length - 1;
    this.draw();
  }

  draw() {
    if (this.frame !== undefined) this.step.draw(this.picture, this.frame);
    this.bar.value = (this.index + this.frame / this.step.frames) / this.steps.length;
  }

  toggle() {
    if (this.playing) {
      this.playing.abort();
      this.playing = null;
      this.go(this.index);
    } else {
      if (this.index === this.steps.length - 1) this.index = 0;
      this.play();
    }
  }

  async play() {
    const playing = (this.playing = new AbortController());
    this.signal.addEventListener("abort", () => playing.abort(), { once: true });
    for (let index = this.index; index < this.steps.length; index += 1) {
      this.index = index;
      this.frame = 1;
      this.showStep();
      announce(`${this.step.title}. ${this.step.caption}`);
      const { frames } = this.step;
      for (let frame = 1; frame <= frames; frame += 1) {
        this.frame = frame;
        this.draw();
        await pause((SECONDS * 1000 * (1 - HOLD)) / frames, playing.signal);
        if (playing.signal.aborted) return;
      }
      await pause(SECONDS * 1000 * HOLD, playing.signal);
      if (playing.signal.aborted) return;
    }
    this.playing = null;
    this.showStep();
  }
}

/** The five steps; all numbers in the captions are of the recorded run. */
function stepsOf({ reference, curve, record, episodes_per_round: games }) {
  const { pages, rounds, texts } = record;
  const [first, last] = [record.games[0], record.games.at(-1)];
  const half = Math.ceil(curve.length / 2);
  const score = (index) => number(curve[index].softmax_final_reward, 1);
  const q = rounds.at(-1).q[0];
  const best = q.indexOf(Math.max(...q));
  const bands = bandsOf(curve);
  const [winner] = [...bands].sort((a, b) => b.shares.at(-1)[1] - a.shares.at(-1)[1]);
  const game = (played) => (element, frame) => drawGame(element, texts, played, frame);
  const run = { id: "the agent", colour: 0, curve, reference, rounds: curve.length };
  run.settings = { episodes_per_round: games };
  return [
    {
      title: "Random play",
      caption: `Before it has learned anything, any action is as good as another. Random games of The Long Watch score ${reward(round1(reference.random))} on average, the best possible score is ${reward(reference.best)}. This one ends with “${first.ending}”: ${reward(first.return)}.`,
      frames: first.steps.length + 1,
      draw: game(first),
    },
    {
      title: "The first rounds",
      caption: `A round is ${games} games, and then it learns from them. After each round its score is measured: ${score(0)} after round 1, ${score(half - 1)} after round ${half}, on the way from random play to the best possible.`,
      frames: half,
      draw: (element, frame) => drawCurves(element, [{ ...run, until: frame }], "softmax"),
    },
    {
      title: "What it expects of each action",
      caption: `For each action it estimates Q, the return to expect after it. These are the actions of the first page. The estimates start low and in no order, and settle: in the end it expects most of “${pages[0].actions[best]}”, ${number(q[best], 1)}.`,
      frames: rounds.length,
      draw: (element, frame) =>
        drawLines(element, {
          lines: linesOfQ(record, 0),
          label: "Q of the first page's actions",
          until: rounds[frame - 1].round,
        }),
    },
    {
      title: "Where its games end",
      caption: `As the estimates settle, its games end elsewhere. “${winner.name}” was the end of ${share(winner.shares[0][1])} of its games after round 1, and is the end of ${share(winner.shares.at(-1)[1])} after round ${curve.length}.`,
      frames: curve.length,
      draw: (element, frame) =>
        drawShares(element, { bands, label: "Shares of endings", until: curve[frame - 1].round }),
    },
    {
      title: "The same game again",
      caption: `The game of the first step, with the same seed, now played by the agent after round ${last.round}. It ends with “${last.ending}”: ${reward(last.return)}.`,
      frames: last.steps.length + 1,
      draw: game(last),
    },
  ];
}

const round1 = (value) => Math.round(10 * value) / 10;

/** A page of a game, and the action taken there. */
function drawGame(element, texts, game, frame) {
  const step = game.steps[frame - 1];
  const text = h("div", { class: "story-text" });
  storyText(text, texts[step ? step.text : game.end]);
  const words = step
    ? h("p", { class: "past-choice" }, `▶ ${texts[step.taken]}`, h("span", { class: "soft" }, ` (one of ${step.of} actions)`))
    : h("p", { class: "past-choice" }, `The end: ${game.ending}, ${reward(game.return)}`);
  show(element, h("div", { class: "tour-page" }, text, words));
}
