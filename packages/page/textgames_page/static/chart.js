// Charts of a run's learning: lines, stacked shares, and the positions of actions.

import { h, s, show } from "./dom.js";
import { number } from "./format.js";
import { ticks } from "./curve.js";

const LABEL = 15; // pixels between two labels
export const COLOURS = 6; // classes line-0 … line-5

/** Push labels apart: [{at, …}] sorted by `at`, at least `gap` from one to the next. */
export function spread(labels, low, high, gap = LABEL) {
  const sorted = [...labels].sort((a, b) => a.at - b.at);
  let least = low;
  for (const label of sorted) {
    label.at = Math.max(label.at, least);
    least = label.at + gap;
  }
  let most = high;
  for (const label of sorted.reverse()) {
    label.at = Math.min(label.at, most);
    most = label.at - gap;
  }
  return labels;
}

/** The first words of a text, at most this many letters. */
export function shorten(text, most) {
  if (text.length <= most) return text;
  const end = text.lastIndexOf(" ", most - 1);
  return `${text.slice(0, end > most / 2 ? end : most - 1).replace(/[\s.,;:]+$/, "")}…`;
}

/** The names of lines below a chart: [{name, mark, look}]. */
function legend(items) {
  return h(
    "ul",
    { class: "legend" },
    items.map(({ name, mark, look }) =>
      h("li", {}, h("span", { class: `key-swatch ${look}`, "aria-hidden": "true" }, mark || ""), name)),
  );
}

/** Axes and what `draw(x, y, frame)` returns inside of them. */
function chart(element, options, draw) {
  const width = Math.max(280, element.clientWidth || 600);
  const isWide = width > 560 && options.labels;
  const height = options.height || 250;
  const frame = { left: 46, right: width - (isWide ? 190 : 30), top: 14, bottom: height - 36, isWide };
  const scale = ([low, high], from, to) => (value) =>
    from + ((value - low) / (high - low || 1)) * (to - from);
  const x = scale(options.x, frame.left, frame.right);
  const y = scale(options.y, frame.bottom, frame.top);
  const words = (at, up, text, anchor = "middle") =>
    s("text", { x: at, y: up, "text-anchor": anchor }, text);
  const marks = ticks(...options.y, 5).map((value) => [
    s("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(value), y2: y(value) }),
    words(frame.left - 7, y(value) + 4, options.tick ? options.tick(value) : plain(value), "end"),
  ]);
  const rounds = ticks(...options.x, Math.max(2, width / 130)).filter(Number.isInteger);
  marks.push(rounds.map((value) => words(x(value), frame.bottom + 16, plain(value))));
  marks.push(words((frame.left + frame.right) / 2, height - 3, options.xWords || "round"));
  show(
    element,
    s(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": options.label },
      s("g", { class: "axes" }, marks),
      draw(x, y, frame),
    ),
    !isWide || options.keys ? legend(options.legend || []) : null,
  );
}

const plain = (value) => String(Number(value.toFixed(6))).replace("-", "−");

function range(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || 1) * 0.06;
  return [low - margin, high + margin];
}

/** Lines [{name, points: [[x, y]], colour}]; `until` is the last x to draw. */
export function drawLines(element, { lines, label, until = Infinity, shaded = [], ...more }) {
  const all = lines.flatMap((line) => line.points);
  if (!all.length) return;
  const ends = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  if (ends[0] === ends[1]) ends[1] += 1;
  const names = lines.length > 1 ? lines : [];
  const options = {
    x: ends,
    y: range(all.map(([, value]) => value)),
    label,
    labels: true,
    legend: names.map(({ name, mark, colour }) => ({ name, mark, look: `line-${colour % COLOURS}` })),
    ...more,
  };
  chart(element, options, (x, y, frame) => {
    const seen = lines.map((line) => ({
      ...line,
      points: line.points.filter(([at]) => at <= until),
    }));
    const drawn = seen.filter((line) => line.points.length);
    const tags = drawn.map((line) => ({ line, at: y(line.points.at(-1)[1]) }));
    spread(tags, frame.top + 4, frame.bottom);
    return [
      shaded.map(([from, to]) =>
        s("rect", {
          class: "shaded",
          x: x(from),
          y: frame.top,
          width: Math.max(1, x(to) - x(from)),
          height: frame.bottom - frame.top,
        }),
      ),
      drawn.map((line) =>
        s(
          "g",
          { class: `line-${line.colour % COLOURS} ${line.colour >= COLOURS ? "dashed" : ""}` },
          s("path", { class: "mean", d: pathOf(line.points, x, y) }),
          line.points.length === 1
            ? s("circle", { cx: x(line.points[0][0]), cy: y(line.points[0][1]), r: 3 })
            : null,
        ),
      ),
      tags.map(({ line, at }) => {
        const [last, value] = line.points.at(-1);
        const left = x(last) + 6;
        const words = frame.isWide ? shorten(line.name, 26) : line.mark || "";
        return s(
          "g",
          { class: `line-${line.colour % COLOURS} end-label` },
          s("title", {}, `${line.name}: ${number(value)}`),
          s("line", { x1: x(last), x2: left - 1, y1: y(value), y2: at }),
          s("text", { x: left + 2, y: at + 4 }, words),
        );
      }),
    ];
  });
}

function pathOf(points, x, y) {
  return points
    .map(([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
}

/** Shares of endings after each round, on top of each other: [{name, shares: [[x, share]]}]. */
export function drawShares(element, { bands, label, until = Infinity }) {
  const rounds = bands[0]?.shares.map(([at]) => at) || [];
  if (!rounds.length) return;
  const x = [rounds[0], Math.max(rounds.at(-1), rounds[0] + 1)];
  const tick = (value) => `${Math.round(100 * value)} %`;
  const names = bands.map(({ name }, index) => ({ name, look: `band-${index}` }));
  const options = { x, y: [0, 1], label, tick, labels: true, legend: names, keys: true };
  chart(element, options, (toX, toY, frame) => {
    const shown = rounds.filter((at) => at <= until).length || 1;
    let below = Array(shown).fill(0);
    const tags = [];
    const areas = bands.map((band, index) => {
      const above = below.map((value, i) => value + band.shares[i][1]);
      const points = (values) => values.map((value, i) => [rounds[i], value]);
      if (shown === 1) {
        below = [...below, ...below];
        above.push(above[0]);
      }
      const at = (values) => (shown === 1 ? [[x[0], values[0]], [x[0] + 0.5, values[0]]] : points(values));
      const d = `${pathOf(at(above), toX, toY)}${pathOf(at(below).reverse(), toX, toY).replace("M", "L")}Z`;
      const share = band.shares[shown - 1][1];
      if (share >= 0.04) tags.push({ name: band.name, at: toY(above[shown - 1] - share / 2), share });
      below = shown === 1 ? above.slice(0, 1) : above;
      return s(
        "path",
        { class: `band band-${index}`, d },
        s("title", {}, `${band.name}: ${Math.round(100 * share)} %`),
      );
    });
    const right = toX(rounds[shown - 1]) + 8;
    spread(tags, frame.top + 4, frame.bottom);
    const labels = tags.map((tag) =>
      s("text", { x: right, y: tag.at + 4 }, frame.isWide ? shorten(tag.name, 24) : ""));
    return [areas, labels];
  });
}

/**
 * The actions of a page: x along the page's vector, so that lines of equal Q are vertical; y is
 * the direction in which the rest of the actions varies most.
 */
export function drawPositions(element, { names, rounds, page, index }) {
  const width = Math.max(280, element.clientWidth || 600);
  const height = Math.min(420, Math.max(300, width * 0.55));
  const { x, y, norm, q, round } = at(rounds[index], page);
  const all = rounds.map((each) => at(each, page));
  const reach = [
    Math.min(0, ...all.flatMap((each) => each.x)),
    Math.max(1e-9, ...all.flatMap((each) => each.x)),
  ];
  const half = 1.1 * Math.max(1e-9, ...all.flatMap((each) => each.y.map(Math.abs)));
  const right = width > 560 ? 210 : 60;
  const toX = (value) => 24 + ((value - reach[0]) / (reach[1] - reach[0])) * (width - right - 24);
  const toY = (value) => (height - 30) / 2 - (value / half) * ((height - 60) / 2);
  const best = q.indexOf(Math.max(...q));
  const grid = ticks(reach[0] * norm, reach[1] * norm, 5).map((value) => [
    s("line", { class: "grid", x1: toX(value / norm), x2: toX(value / norm), y1: 8, y2: height - 34 }),
    s(
      "text",
      { class: "tick", x: toX(value / norm), y: height - 18, "text-anchor": "middle" },
      `Q ${plain(value)}`,
    ),
  ]);
  const tips = x.map((along, i) => ({ i, left: toX(along), top: toY(y[i]), at: toY(y[i]) }));
  spread(tips, 16, height - 44);
  const labelAt = Math.max(...tips.map((tip) => tip.left)) + 16;
  const actions = tips.map(({ i, left, top, at: up }) =>
    s(
      "g",
      { class: i === best ? "of-action best" : "of-action" },
      s("title", {}, `${names[i]}: Q ${number(q[i])}`),
      s("line", { class: "arrow", x1: toX(0), y1: toY(0), x2: left, y2: top }),
      s("circle", { class: "tip", cx: left, cy: top, r: 4.5 }),
      s("line", { class: "leader", x1: left + 5, y1: top, x2: labelAt - 3, y2: up }),
      s("text", { x: labelAt, y: up + 4 }, width > 560 ? shorten(names[i], 28) : String(i + 1)),
    ),
  );
  const label = `After round ${round}, the action “${names[best]}” lies farthest along the page: Q ${number(q[best])}`;
  show(
    element,
    s(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, class: "plane", role: "img", "aria-label": label },
      grid,
      s(
        "g",
        { class: "of-state" },
        s("line", { class: "arrow", x1: toX(0), y1: toY(0), x2: width - right + 6, y2: toY(0) }),
        s("path", { class: "tip", d: arrowHead(width - right + 12, toY(0)) }),
        s("circle", { class: "tip", cx: toX(0), cy: toY(0), r: 3 }),
      ),
      actions,
      s(
        "text",
        { class: "tick", x: toX(0), y: height - 3 },
        `→ direction of the page's vector h, of length ${number(norm, 1)}; Q = x · |h|`,
      ),
    ),
    width > 560
      ? null
      : legend(names.map((name, i) => ({ name, mark: String(i + 1), look: i === best ? "best" : "" }))),
  );
}

const arrowHead = (x, y) => `M${x} ${y}l-9 -4.5v9z`;

/** The numbers of one page after a round; Q is that of the first replica. */
function at(round, page) {
  const norm = round.norm[page];
  const x = round.x[page];
  return { round: round.round, norm, x, y: round.y[page], q: x.map((value) => value * norm) };
}
