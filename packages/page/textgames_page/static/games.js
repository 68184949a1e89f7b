// The list of games, and the area to drop a story.

import { get, isAborted, part, remove, upload } from "./api.js";
import { HAS_AGENTS, announce, failure, h, nothing, show, toast, waiting } from "./dom.js";
import { megabytes, plural, reward } from "./format.js";

const KINDS = {
  "built in": "built in",
  added: "added",
  given: "command line",
  uploaded: "uploaded",
};

const MAX_STEPS = 200; // of random games, if they are to say how long a game is

export async function gamesView(body, signal) {
  const list = h("ul", { class: "cards", "aria-label": "Games" });
  const zone = dropZone(onUpload, signal);
  const learning = [
    ", train an agent on it, and see what the agent thinks. ",
    h("a", { href: "#/tour" }, "How does an agent learn? A tour of 75 seconds"),
  ];
  const opening = h(
    "p",
    { class: "lead" },
    "Play a story, test it and see its map",
    HAS_AGENTS ? learning : null,
    ".",
  );
  show(body, opening, zone, list);
  await fill(list, signal);
}

async function fill(list, signal) {
  if (!list.children.length) show(list, h("li", { class: "plain" }, waiting("Loading games …")));
  try {
    const { games } = await get("/api/games", signal);
    const cards = games.map((game) => card(game, () => fill(list, signal), signal));
    show(
      list,
      cards.length
        ? cards
        : h("li", { class: "plain" }, nothing("There are no games yet. Drop a story above.")),
    );
  } catch (error) {
    if (!isAborted(error))
      show(
        list,
        h(
          "li",
          { class: "plain" },
          failure(error, () => fill(list, signal)),
        ),
      );
  }
}

/** What is known about a game: its findings, or the reason why there are none. */
export function factsAbout(game, signal) {
  return get(`/api/games/${part(game.id)}`, signal);
}

/** Two lines of prose, the length and the best score of a game, filled when they arrive. */
function about(game, signal) {
  const prose = h("p", { class: "prose" });
  const facts = h("p", { class: "small soft" }, "Counting its pages …");
  get(`/api/games/${part(game.id)}/opening`, signal)
    .then(({ text }) => (prose.textContent = text.split(/\s+/).slice(0, 60).join(" ")))
    .catch(() => {});
  factsAbout(game, signal)
    .then(({ findings, reason }) => {
      facts.textContent = findings ? lengthWords(findings) : reason || "";
    })
    .catch(() => (facts.textContent = ""));
  return [prose, facts];
}

function lengthWords({ statistics, endings, random, best, top_reward: top }) {
  const score = best?.final_reward?.mean ?? top;
  return [
    plural(statistics.pages, "page"),
    endings.length ? plural(endings.length, "ending") : null,
    stepWords(random?.steps.mean, best?.steps.mean),
    typeof score === "number" ? `best score ${reward(score)}` : null,
  ]
    .filter(Boolean)
    .join(" · ");
}

function stepWords(random, best) {
  if (random <= MAX_STEPS) return `about ${plural(Math.round(random), "step")}`;
  return best === undefined ? null : `${plural(Math.round(best), "step")} at best`;
}

function card(game, onChange, signal) {
  const address = (tab) => `#/game/${part(game.id)}/${tab}`;
  const links = ["Play", "Test", ...(HAS_AGENTS ? ["Learn"] : [])].map((words) =>
    h(
      "a",
      {
        href: address(words.toLowerCase()),
        class: words === "Play" ? "button main" : "card-link",
        "aria-label": `${words}: ${game.title}`,
      },
      words,
    ),
  );
  const removal =
    game.removable &&
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Remove ${game.title}`,
        onclick: () => removeGame(game, onChange),
      },
      "Remove",
    );
  const runs = game.runs ? plural(game.runs, "run") : "no runs yet";
  const name = game.file || game.id;
  return h(
    "li",
    { class: "card", dataset: { game: game.id } },
    h("h2", {}, h("a", { href: address("play") }, game.title)),
    about(game, signal),
    h(
      "p",
      { class: "small soft" },
      h("span", { class: "tag" }, KINDS[game.kind] || game.kind),
      HAS_AGENTS ? ` ${name} · ${runs}` : ` ${name}`,
    ),
    h("div", { class: "row" }, links, removal),
  );
}

async function removeGame(game, onChange) {
  if (!confirm(`Remove “${game.title}”? The uploaded file is deleted${HAS_AGENTS ? "; its runs are kept" : ""}.`)) return;
  try {
    await remove(`/api/games/${part(game.id)}`);
    toast(`${game.title} was removed.`);
    onChange();
  } catch (error) {
    toast(error.message, "bad");
  }
}

/** The upload area; files can be dropped anywhere in the window. */
function dropZone(done, signal) {
  const input = h("input", { type: "file", multiple: true, id: "story-file", class: "unseen" });
  const words = h(
    "p",
    { class: "small soft", id: "drop-words" },
    "A Twine story, published or as Twee, or an Ink story, with its .toml if it has one. It is tested at once.",
  );
  const state = h("div", { class: "drop-state", "aria-live": "polite" });
  const zone = h(
    "div",
    { class: "drop" },
    h("label", { for: "story-file", class: "button" }, "Choose a story file"),
    input,
    h("span", { class: "or" }, "or drop it anywhere on this page"),
    words,
    state,
  );
  const send = (files) => files.length && sendFiles([...files], state, done);
  input.addEventListener("change", async () => {
    await send(input.files);
    input.value = "";
  });
  for (const name of ["dragenter", "dragover"]) {
    addEventListener(
      name,
      (event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      { signal },
    );
  }
  addEventListener(
    "dragleave",
    (event) => {
      if (!event.relatedTarget) zone.classList.remove("over");
    },
    { signal },
  );
  addEventListener(
    "drop",
    (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      send(event.dataTransfer.files);
    },
    { signal },
  );
  showLimits(input, words);
  return zone;
}

async function showLimits(input, words) {
  try {
    const { limits } = await get("/api/status");
    input.accept = limits.upload_types.join(",");
    words.textContent += ` At most ${megabytes(limits.upload_bytes)}.`;
  } catch {
    /* the list of games shows the error */
  }
}

async function sendFiles(files, state, done) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  show(state, waiting(`Opening ${files.map((file) => file.name).join(", ")} …`));
  try {
    const answer = await upload("/api/games", form);
    announce(`${answer.game.title} was added.`);
    done(answer);
  } catch (error) {
    show(state, failure(error));
  }
}

/** Go straight to the test of a new story. */
function onUpload(answer) {
  location.hash = `#/game/${part(answer.game.id)}/test`;
  toast(`${answer.game.title} was added.`);
}
