// Learning curves: a line for each run, with random play and the best possible score.

import { h, s, show } from "./dom.js";
import { number } from "./format.js";

const HEIGHT = 330;
const MARGIN = { left: 52, right: 26, top: 16, bottom: 40 };
export const COLOURS = 6; // classes line-0 … line-5

/** Draw runs ([{id, colour, curve, reference}]) by one policy, as wide as the element. */
export function drawCurves(element, runs, policy) {
  const WIDTH = Math.max(300, element.clientWidth - 20);
  const lines = runs.map((run) => ({
    ...run,
    points: run.curve
      .filter((point) => point.round <= (run.until ?? Infinity))
      .map((point) => pointOf(point, `${policy}_final_reward`)),
  }));
  const marks = references(runs);
  const values = [
    ...lines.flatMap((line) => line.points.flatMap(({ low, high }) => [low, high])),
    ...marks.map((mark) => mark.value),
  ];
  const longest = Math.max(
    1,
    ...lines.flatMap((line) => line.points.map((point) => point.x)),
    ...runs.map((run) => (run.rounds || 0) * (run.settings?.episodes_per_round || 0)),
  );
  const [low, high] = values.length ? widen(Math.min(...values), Math.max(...values)) : [-1, 1];
  const x = (value) => MARGIN.left + (value / longest) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value) =>
    HEIGHT - MARGIN.bottom - ((value - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const summary = lines
    .filter((line) => line.points.length)
    .map((line) =>
      `${line.title || line.id}: ${number(line.points.at(-1).mean)} after ${line.points.at(-1).x} games`)
    .join("; ");
  show(
    element,
    s(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        class: "curve",
        role: "img",
        "aria-label": `Learning curves. ${summary || "No round has finished yet."}`,
      },
      axes(values.length ? ticks(low, high, 6) : [], longest, x, y, WIDTH),
      marks.map((mark) => reference(mark, x(0), x(longest), y(mark.value))),
      lines.map((line) => lineOf(line, x, y)),
      lines.some((line) => line.points.length)
        ? null
        : s(
            "text",
            { x: WIDTH / 2, y: HEIGHT / 2, class: "none", "text-anchor": "middle" },
            lines.map((line) => line.words).find(Boolean) || "The first round has not finished yet.",
          ),
    ),
  );
}

/** A round; the band is the standard deviation over replicas, within what replicas scored. */
function pointOf(point, column) {
  const scores = point.replicas?.map((replica) => replica[column]) ?? [];
  const mean = point[column];
  const sd = point[`${column}_sd`];
  return {
    x: point.episodes_played,
    mean,
    sd,
    low: Math.max(mean - sd, Math.min(mean, ...scores)),
    high: Math.min(mean + sd, Math.max(mean, ...scores)),
    round: point.round,
  };
}

function widen(low, high) {
  const margin = (high - low || 1) * 0.08;
  return [low - margin, high + margin];
}

function references(runs) {
  const scores = runs.map((run) => run.reference).find((reference) => reference) || {};
  return [
    ["best", "best possible"],
    ["random", "random play"],
  ]
    .filter(([name]) => typeof scores[name] === "number")
    .map(([name, words]) => ({ name, words, value: scores[name] }));
}

function reference(mark, from, to, at) {
  return s(
    "g",
    { class: `reference ${mark.name}` },
    s("line", { x1: from, x2: to, y1: at, y2: at }),
    s(
      "text",
      { x: to - 4, y: at + (mark.name === "best" ? -8 : 14), "text-anchor": "end" },
      `${mark.words} ${number(mark.value, 1)}`,
    ),
  );
}

function lineOf(line, x, y) {
  if (!line.points.length) return null;
  const path = line.points
    .map((point, index) =>
      `${index ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.mean).toFixed(1)}`)
    .join("");
  const edge = (side) =>
    line.points.map((point) => `${x(point.x).toFixed(1)},${y(point[side]).toFixed(1)}`);
  const upper = edge("high");
  const lower = edge("low").reverse();
  return s(
    "g",
    { class: `line-${line.colour}` },
    line.points.length > 1
      ? s("polygon", { class: "spread", points: [...upper, ...lower].join(" ") })
      : null,
    s("path", { class: "mean", d: path }),
    line.points.map(({ x: at, mean, sd, round }) =>
      s(
        "circle",
        { cx: x(at), cy: y(mean), r: 3.5 },
        s("title", {}, `${line.title || line.id}, round ${round}: ${number(mean)} ± ${number(sd)}`),
      ),
    ),
  );
}

function axes(scores, longest, x, y, width) {
  const marks = [];
  for (const value of scores) {
    marks.push(
      s("line", {
        class: "grid",
        x1: MARGIN.left,
        x2: width - MARGIN.right,
        y1: y(value),
        y2: y(value),
      }),
      s(
        "text",
        { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" },
        String(Number(value.toFixed(6))).replace("-", "−"),
      ),
    );
  }
  for (const value of ticks(0, longest, width / 110))
    marks.push(
      s(
        "text",
        { x: x(value), y: HEIGHT - MARGIN.bottom + 18, "text-anchor": "middle" },
        value.toLocaleString("en"),
      ),
    );
  marks.push(
    s(
      "text",
      {
        class: "axis",
        x: (MARGIN.left + width - MARGIN.right) / 2,
        y: HEIGHT - 4,
        "text-anchor": "middle",
      },
      "games played",
    ),
    s(
      "text",
      {
        class: "axis",
        x: 12,
        y: HEIGHT / 2,
        transform: `rotate(-90 12 ${HEIGHT / 2})`,
        "text-anchor": "middle",
      },
      "mean final reward",
    ),
  );
  return s("g", { class: "axes" }, marks);
}

/** Round numbers between two, about `count` of them. */
export function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ||
    10 * power;
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9; value += step) {
    values.push(value);
  }
  return values;
}

/** The numbers of the curves as a table. */
export function tableOf(runs, policy) {
  const rounds = [...new Set(runs.flatMap((run) => run.curve.map((point) => point.round)))].sort(
    (a, b) => a - b,
  );
  const cell = (run, round) => {
    const point = run.curve.find((one) => one.round === round);
    const column = `${policy}_final_reward`;
    return h("td", {}, point ? `${number(point[column])} ± ${number(point[`${column}_sd`])}` : "—");
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Round"),
          runs.map((run) => h("th", { scope: "col" }, run.title || run.id)),
        ),
      ),
      h(
        "tbody",
        {},
        rounds.map((round) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, String(round)),
            runs.map((run) => cell(run, round)),
          ),
        ),
      ),
    ),
  );
}
