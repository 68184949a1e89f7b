// The page as a whole: which view the address asks for, and what stands around it.

import { get, left, part } from "./api.js";
import { announce, failure, h, remember, remembered, show, waiting } from "./dom.js";
import { counted, number } from "./format.js";
import { gamesView } from "./games.js";
import { learnView } from "./learn.js";
import { peopleView } from "./people.js";
import { playView } from "./play.js";
import { testView } from "./test.js";

const TABS = [
  ["play", "Play", playView],
  ["test", "Test", testView],
  ["learn", "Learn", learnView],
  ["people", "People", peopleView],
];
const place = document.getElementById("view");
let looking = new AbortController();
let shown = { game: null, body: null };

function parts() {
  return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
}

async function route(event) {
  looking.abort();
  looking = new AbortController();
  const { signal } = looking;
  const [first, id, tab = "play", ...rest] = parts();
  mark(first === "people" ? "people" : "games");
  try {
    if (first === "game" && id) await gamePage(id, tab, rest, signal);
    else if (first === "people") plainPage("People", (body) => peopleView(body, null, signal));
    else plainPage("Games", (body) => gamesView(body, signal));
  } catch (error) {
    if (!left(error))
      show(
        place,
        failure(error, () => route()),
      );
  }
  if (event && !document.activeElement?.closest("nav.tabs"))
    document.querySelector("h1")?.focus({ preventScroll: true });
}

function plainPage(title, view) {
  shown = { game: null, body: null };
  document.title = `${title} · drrn`;
  const body = h("div", { class: "body" });
  show(place, h("h1", { tabindex: "-1", class: title === "Games" ? "unseen" : "" }, title), body);
  view(body);
}

/** A game's head stays while one goes from tab to tab, so that nothing jumps. */
async function gamePage(id, tab, rest, signal) {
  const known = TABS.find(([name]) => name === tab) || TABS[0];
  if (shown.game?.id !== id) {
    show(place, waiting("Opening the game …"));
    const game = await gameOf(id, signal);
    const body = h("div", { class: "body" });
    shown = { game, body };
    show(place, head(game), body);
  }
  document.title = `${shown.game.title} · ${known[1]} · drrn`;
  for (const link of place.querySelectorAll("nav.tabs a")) {
    if (link.dataset.tab === known[0]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  announce(`${shown.game.title}, ${known[1]}`);
  shown.body.className = `body ${known[0]}-body`;
  show(shown.body);
  known[2](shown.body, shown.game, signal, rest);
}

async function gameOf(id, signal) {
  const { games } = await get("/api/games", signal);
  const found = games.find((game) => game.id === id);
  if (!found) throw new Error("There is no such game here: it may have been removed. All games stand under Games.");
  return found;
}

function head(game) {
  const links = TABS.map(([name, words]) =>
    h("a", { href: `#/game/${part(game.id)}/${name}`, dataset: { tab: name } }, words),
  );
  return h(
    "header",
    { class: "game-head" },
    h("div", {}, h("h1", { tabindex: "-1" }, game.title), factsOf(game), leftOut(game.notes)),
    h("nav", { class: "tabs", "aria-label": "What to do with this game" }, links),
  );
}

/** A line on what the game is; it has its place before its words are there. */
function factsOf(game) {
  const line = h("p", { class: "small soft facts" }, "Looking at the whole game …");
  get(`/api/games/${part(game.id)}`)
    .then(({ facts, why_not: why }) => {
      line.textContent = facts ? factWords(facts) : why || "";
      line.title = line.textContent;
    })
    .catch(() => (line.textContent = ""));
  return line;
}

function factWords({ pages, endings, random, best }) {
  const known = [pages && counted(pages, "page"), endings?.length && counted(endings.length, "ending")];
  if (typeof random === "number") known.push(`random play gets ${number(random, 1)}`);
  if (typeof best === "number") known.push(`the best possible is ${number(best, 1)}`);
  return known.filter(Boolean).join(" · ");
}

/** What had to be left out to play a story. */
function leftOut(notes) {
  if (!notes?.length) return null;
  const lines = notes.map((note) => h("li", {}, note));
  return h(
    "details",
    { class: "small" },
    h("summary", {}, `Played without ${counted(notes.length, "thing")}`),
    h("ul", {}, lines),
  );
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
    const chosen = remembered("theme");
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
  event.preventDefault(); // the address after # is the view's
  document.querySelector("h1")?.focus();
});
themes();
addEventListener("hashchange", route);
route();
