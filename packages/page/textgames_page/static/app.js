// The page: which view the address names, the head of a game, the theme.

import { get, isAborted, part } from "./api.js";
import { HAS_AGENTS, PRODUCT, announce, failure, h, recall, remember, show, waiting } from "./dom.js";
import { number, plural } from "./format.js";
import { factsAbout, gamesView } from "./games.js";
import { learnView } from "./learn.js";
import { peopleView } from "./people.js";
import { playView } from "./play.js";
import { testView } from "./test.js";
import { tourView } from "./tour.js";

const TABS = [
  ["play", "Play", playView],
  ["test", "Test", testView],
  ["learn", "Learn", learnView],
  ["people", "People", peopleView],
].filter(([name]) => HAS_AGENTS || name !== "learn");
const main = document.getElementById("view");
let view = new AbortController();
let current = { game: null, body: null };

function parts() {
  return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
}

async function route(event) {
  view.abort();
  view = new AbortController();
  const { signal } = view;
  const [first, id, tab = "play", ...rest] = parts();
  mark(["people", "tour"].includes(first) ? first : "games");
  try {
    if (first === "game" && id) await gamePage(id, tab, rest, signal);
    else if (first === "people") plainPage("People", (body) => peopleView(body, null, signal));
    else if (first === "tour" && HAS_AGENTS)
      plainPage("How an agent learns", (body) => tourView(body, signal));
    else plainPage("Games", (body) => gamesView(body, signal));
  } catch (error) {
    if (!isAborted(error))
      show(
        main,
        h("h1", { tabindex: "-1" }, "This page could not be opened"),
        failure(error, () => route()),
      );
  }
  if (event && !document.activeElement?.closest("nav.tabs"))
    document.querySelector("h1")?.focus({ preventScroll: true });
}

function plainPage(title, fill) {
  current = { game: null, body: null };
  document.title = `${title} · ${PRODUCT}`;
  const body = h("div", { class: "body" });
  show(main, h("h1", { tabindex: "-1", class: title === "Games" ? "unseen" : "" }, title), body);
  fill(body);
}

/** The page of a game; its head stays when the tab changes. */
async function gamePage(id, tab, rest, signal) {
  const [tabName, tabTitle, showTab] = TABS.find(([name]) => name === tab) || TABS[0];
  if (current.game?.id !== id) {
    show(main, waiting("Opening the game …"));
    const game = await gameOf(id, signal);
    const body = h("div", { class: "body" });
    current = { game, body };
    show(main, head(game), body);
  }
  document.title = `${current.game.title} · ${tabTitle} · ${PRODUCT}`;
  for (const link of main.querySelectorAll("nav.tabs a")) {
    if (link.dataset.tab === tabName) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  announce(`${current.game.title}, ${tabTitle}`);
  current.body.className = `body ${tabName}-body`;
  show(current.body);
  showTab(current.body, current.game, signal, rest);
}

async function gameOf(id, signal) {
  const { games } = await get("/api/games", signal);
  const game = games.find((each) => each.id === id);
  if (!game) {
    throw new Error(
      "There is no such game; it may have been removed. The page Games lists all games.",
    );
  }
  return game;
}

function head(game) {
  const links = TABS.map(([name, words]) =>
    h("a", { href: `#/game/${part(game.id)}/${name}`, dataset: { tab: name } }, words),
  );
  return h(
    "header",
    { class: "game-head" },
    h(
      "div",
      {},
      h("h1", { tabindex: "-1" }, game.title),
      factsOf(game),
    ),
    h("nav", { class: "tabs", "aria-label": "Views of this game" }, links),
  );
}

/** A line of facts about the game, filled when they arrive. */
function factsOf(game) {
  const line = h("p", { class: "small soft facts" }, "Counting pages and endings …");
  factsAbout(game)
    .then(({ findings, reason }) => {
      line.textContent = findings ? factWords(findings) : reason || "";
      line.title = line.textContent;
    })
    .catch(() => (line.textContent = ""));
  return line;
}

function factWords({ statistics, endings, random, best }) {
  const facts = [
    plural(statistics.pages, "page"),
    endings.length ? plural(endings.length, "ending") : null,
  ];
  if (random) facts.push(`random play scores ${number(random.final_reward.mean, 1)}`);
  if (best) facts.push(`best possible ${number(best.final_reward.mean, 1)}`);
  return facts.filter(Boolean).join(" · ");
}

function mark(current) {
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.dataset.page === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function themes() {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = recall("theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
    const isDark = chosen ? chosen === "dark" : dark.matches;
    button.setAttribute("aria-label", isDark ? "Light colours" : "Dark colours");
    button.title = button.getAttribute("aria-label");
    button.textContent = isDark ? "☀" : "☾";
  };
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    remember("theme", now === "dark" ? "light" : "dark");
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # names the view
  document.querySelector("h1")?.focus();
});
themes();
// Leaving a view cancels its requests, which is no error.
addEventListener("unhandledrejection", (event) => {
  if (event.reason && isAborted(event.reason)) event.preventDefault();
});
addEventListener("hashchange", route);
route();
