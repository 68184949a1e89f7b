// One adapter per story format: its page, its own elements, and its state.
(function (drrn) {
  "use strict";

  const MAX_DEPTH = 8; // nesting of values
  const MAX_MEMBERS = 2 ** 20; // of a list; of a longer list only the length is read
  const MAX_FAULTS = 20; // of a page
  const FURNITURE = new Set(["ui-bar", "ui-bar-toggle", "ui-overlay", "ui-dialog", "init-screen", "init-no-js",
    "init-lacking", "init-loading", "store-area", "storeArea", "sidebar", "snapbackMenu", "shareMenu", "copyright",
    "floater", "noscript", "backdrop", "page-toolbar", "ui-bar-history"]);
  const FURNITURE_CLASSES = ["toolbar", "brand-saves", "tw-debugger", "error-toggle"];

  const find = (selector) => document.querySelector(selector);
  const attempt = (action, otherwise) => {
    try {
      const value = action();
      return value === undefined || value === null ? otherwise : value;
    } catch {
      return otherwise;
    }
  };

  /** A value of an engine as plain JSON, without functions and the engine's objects. */
  function plain(value, depth) {
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (typeof value !== "object" || depth > MAX_DEPTH) return undefined;
    if (value.length > MAX_MEMBERS) return `${value.length} members`;
    if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1) ?? null);
    if (value instanceof Set) return Array.from(value, (item) => plain(item, depth + 1) ?? null);
    if (value instanceof Date) return value.getTime();
    if (value.nodeType) return undefined;
    const entries = value instanceof Map ? value.entries() : Object.entries(value);
    return members(entries, depth);
  }

  function members(entries, depth) {
    const result = {};
    for (const [name, item] of entries) {
      const data = String(name).startsWith("TwineScript_") ? undefined : plain(item, depth + 1);
      if (data !== undefined) result[name] = data;
    }
    return result;
  }

  /** Names and values with those of prototypes, where Harlowe 1 and 2 keep earlier values. */
  function allEntries(object) {
    const entries = [];
    for (const name in object) entries.push([name, object[name]]);
    return entries;
  }

  /** The page of most formats: an open dialog, else the first element that exists. */
  function rootsOf(selectors) {
    return () => {
      const dialog = find("dialog[open]");
      for (const selector of dialog ? [] : selectors) {
        const element = find(selector);
        if (element) return [element];
      }
      return [dialog || document.body];
    };
  }

  const unknown = {
    name: "",
    roots: rootsOf(["tw-story", "#passages", "#page", "#story", "body"]),
    passage: () => attempt(() => find("[data-passage-name]").getAttribute("data-passage-name"), ""),
    variables: () => attempt(() => globalThis.story.state, {}),
    history: () => [], // passages shown so far, this one last
    fresh: () => false, // whether the story has made no move yet
    // A value that changes with every move to a passage.
    moment: () => attempt(() => globalThis.story.history.length, null) ?? drrn.format.passage(),
    beyond: () => null, // plain data of the engine that is not a variable and affects the story
    save: () => null, // the state on entering this passage
    present: () => null, // the present state, if that is not known
    restore: () => false,
    sideBar: () => [], // links of the story that are on every page, outside of it
  };

  const harlowe = {
    ...unknown,
    name: "Harlowe",
    roots: () => {
      const dialogs = document.querySelectorAll("tw-backdrop");
      let root = dialogs.length ? dialogs[dialogs.length - 1] : find("tw-story") || document.body;
      // The whole page can be pressed.
      while (root.parentNode.localName === "tw-enchantment") root = root.parentNode;
      return [root];
    },
    passage: () => attempt(() => drrn.harlowe.State.passage, ""),
    variables: () => attempt(() => drrn.harlowe.State.variables, {}),
    history: () => attempt(() => {
      const { State } = drrn.harlowe;
      return [...(State.history ? State.history() : State.pastPassageNames()), State.passage];
    }, []),
    moment: () => {
      const { pastLength, turns, passage } = drrn.harlowe.State;
      return `${pastLength} ${turns} ${passage}`;
    },
    fresh: () => drrn.harlowe.State.pastLength === 0,
    save: () => attempt(() => {
      const saved = drrn.harlowe.State.serialise(false);
      return typeof saved === "object" ? saved.pastAndPresent : saved;
    }, null) || null,
    restore: (saved, values) => {
      const { State, Engine, Section } = drrn.harlowe;
      const section = State.deserialise.length > 1 ? [Section.create(null)] : [];
      if (State.deserialise(...section, saved) instanceof Error) return false;
      Object.assign(State.variables, values);
      Engine.showPassage(State.passage, false);
      return true;
    },
  };

  /** Convert state to text and back, including NaN, infinity and undefined, which JSON lacks. */
  const NOT_JSON = "drrn unsaid";
  const NOT_JSON_VALUES = { NaN, Infinity, "-Infinity": -Infinity };
  const isNotJson = (value) =>
    value === undefined || (typeof value === "number" && !Number.isFinite(value));
  const asText = (state) =>
    JSON.stringify(state, (_, value) => (isNotJson(value) ? { [NOT_JSON]: String(value) } : value));
  const fromText = (text) => revive(JSON.parse(text));

  function revive(value) {
    if (value === null || typeof value !== "object") return value;
    if (Object.prototype.hasOwnProperty.call(value, NOT_JSON)) {
      return NOT_JSON_VALUES[value[NOT_JSON]];
    }
    if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) {
      for (const name of Object.keys(value)) value[name] = revive(value[name]);
    }
    return value;
  }

  const SEED_PREFIX = "drrn "; // prefix of seeds that the driver set, not the story

  // The parts of Harlowe, which the prepared source passes on before the first passage.
  let harloweParts = null;
  Object.defineProperty(drrn, "harlowe", {
    get: () => harloweParts,
    set: (parts) => {
      const first = !harloweParts;
      harloweParts = parts;
      if (first) reseed(true);
      if (first) drrn.chance.draws = 0; // draws of the engine itself
    },
  });

  /** Seed the generator that Harlowe has since 3.3, unless the story has set a seed. */
  function reseed(first) {
    const state = harloweParts && harloweParts.State;
    if (!state || typeof state.setSeed !== "function") return;
    if (first || String(state.seed).startsWith(SEED_PREFIX)) {
      state.setSeed(`${SEED_PREFIX}${drrn.chance.key()}`);
    }
  }

  const SIDE_BAR = ":is(#story-banner,#story-caption,#menu-story) :is(a,button)";
  const sugarcube = {
    ...unknown,
    name: "SugarCube",
    roots: () => {
      const dialog = document.getElementById("ui-dialog");
      if (!dialog || !dialog.classList.contains("open")) return [document.body];
      // These dialogs of SugarCube are not part of the story.
      const ownUse = find("#ui-dialog-body.saves,#ui-dialog-body.settings,#ui-dialog-body.share");
      return [ownUse ? null : find("#ui-dialog-body"), find("#ui-dialog-close")].filter(Boolean);
    },
    sideBar: () =>
      Array.from(sugarcube.roots()[0] === document.body ? document.querySelectorAll(SIDE_BAR) : [])
        .filter((link) => link.getAttribute("data-passage") !== sugarcube.passage()),
    passage: () => attempt(() => globalThis.SugarCube.State.passage, ""),
    variables: () => attempt(() => globalThis.SugarCube.State.variables, {}),
    history: () => attempt(() => {
      const { State } = globalThis.SugarCube;
      return [
        ...(State.expired || []),
        ...State.history.slice(0, State.length).map((moment) => moment.title),
      ];
    }, []),
    moment: () => globalThis.SugarCube.State.variables,
    fresh: () => globalThis.SugarCube.State.length === 1,
    beyond: () => {
      const { setup, settings, State } = globalThis.SugarCube;
      const parts = [setup, settings, State.temporary].map((part) => plain(part, 0) || {});
      return parts.some((part) => Object.keys(part).length) ? parts : null;
    },
    save: () => attempt(() => asText(globalThis.SugarCube.State.marshalForSave()), null),
    restore: (saved, values) => {
      const { State, Engine, Dialog } = globalThis.SugarCube;
      if (Dialog && Dialog.isOpen()) Dialog.close();
      const state = fromText(saved);
      if (values) Object.assign(state.history[state.index].variables, values);
      State.unmarshalForSave(state);
      Engine.show();
      return true;
    },
  };

  const CHAPBOOKS_OWN = /^(config|engine|trail|browser)\b/; // not variables of the story
  let isWatching = false;
  // Chapbook's state when the current passage was entered, before its variables are set.
  let entryState = null;
  let entering = null; // the passage that Snowman is about to display

  function watch(engine) {
    if (isWatching) return;
    isWatching = true;
    const isOwn = ([name]) => CHAPBOOKS_OWN.test(name);
    if (chapbook.fresh()) {
      entryState = asText(Object.fromEntries(Object.entries(engine.state.saveToObject()).filter(isOwn)));
    }
    const saveEntryState = ({ name }) => {
      if (name === "trail") entryState = asText(engine.state.saveToObject());
    };
    // Chapbook 2 has events of the window; capturing them precedes the display of the passage.
    if (engine.event) engine.event.on("state-change", saveEntryState);
    else globalThis.addEventListener("state-change", (event) => saveEntryState(event.detail), true);
  }

  /** Snowman's state before each move; the move is repeated to return. */
  function watchShow(story) {
    if (isWatching) return;
    isWatching = true;
    const { show } = story;
    story.show = function showAndKeep(target, ...rest) {
      entryState = asText({ target, state: story.state, history: story.history });
      entering = target;
      try {
        return show.call(story, target, ...rest);
      } finally {
        entering = null;
      }
    };
  }

  const chapbook = {
    ...unknown,
    name: "Chapbook",
    // After an error, Chapbook covers the page by a message, and the story cannot go on.
    roots: rootsOf(["error-handler.active", "#page", "body"]),
    passage: () => attempt(() => globalThis.engine.state.get("trail").slice(-1)[0], "")
      || attempt(() => globalThis._state.get("trail").slice(-1)[0], ""),
    variables: () => attempt(() => {
      const saved = globalThis.engine.state.saveToObject();
      return Object.fromEntries(
        Object.entries(saved).filter(([name]) => !CHAPBOOKS_OWN.test(name)),
      );
    }, {}),
    history: () => attempt(() => globalThis.engine.state.get("trail"), []),
    moment: () => {
      attempt(() => watch(globalThis.engine), null);
      return (
        attempt(() => globalThis.engine.state.get("trail").length, null) ??
        drrn.format.passage()
      );
    },
    fresh: () => globalThis.engine.state.get("trail").length === 1,
    save: () => entryState,
    present: () => attempt(() => asText(globalThis.engine.state.saveToObject()), null),
    restore: (saved, values) => {
      const { state } = globalThis.engine;
      const { trail, ...rest } = { ...fromText(saved), ...values };
      for (const name of Object.keys(state.saveToObject())) {
        if (!(name in rest) && name !== "trail") state.set(name, undefined);
      }
      state.restoreFromObject({ ...rest, trail }); // the passage is displayed after all
      return true;
    },
  };

  const snowman = {
    ...unknown,
    name: "Snowman",
    roots: rootsOf(["tw-story", "#main", "#passage", ".passage", "body"]),
    passage: () => attempt(() => globalThis.story.passage(entering).name, "")
      || attempt(() => globalThis.passage.name, ""),
    variables: () => attempt(() => globalThis.s, null) || attempt(() => globalThis.story.state, {}),
    history: () => attempt(() => globalThis.story.history.map(String), []),
    moment: () => {
      attempt(() => watchShow(globalThis.story), null);
      return unknown.moment();
    },
    save: () => entryState,
    restore: (saved, values) => {
      const { story } = globalThis;
      const { target, state, history } = fromText(saved);
      for (const name of Object.keys(story.state)) delete story.state[name];
      Object.assign(story.state, state, values);
      story.history = history;
      story.show(target);
      return true;
    },
  };

  const twine1 = {
    ...unknown,
    name: "Twine 1",
    roots: rootsOf(["#passages", "body"]),
    passage: () => attempt(() => globalThis.state.history[0].passage.title, ""),
    variables: () => attempt(() => globalThis.state.history[0].variables, {}),
    history: () =>
      attempt(
        () => globalThis.state.history.map((moment) => moment.passage?.title || "").reverse(),
        [],
      ),
    moment: () => globalThis.state.history.length,
    // The history when this passage was entered; the move to it is then repeated.
    save: () => attempt(() => {
      const [present, ...past] = globalThis.state.history;
      return asText([
        present.passage.title,
        past.map(({ passage, variables }) => [passage && passage.title, variables]),
      ]);
    }, null),
    restore: (saved, values) => {
      const [title, past] = fromText(saved);
      if (values) Object.assign(past[0][1], values);
      const { state, tale } = globalThis;
      const root = find("#passages");
      if (root) root.textContent = "";
      const moments = past.map(([name, variables]) => ({
        passage: name === null ? null : tale.get(name),
        variables,
      }));
      // Its "back" uses the browser's history, so that gets the same entries.
      const pushes = typeof state.pushState === "function";
      for (let length = 2; pushes && length <= moments.length; length += 1) {
        state.history = moments.slice(-length);
        attempt(() => state.pushState(false, ""), null);
      }
      state.history = moments;
      state.display(title, null, "quietly");
      return true;
    },
  };

  // What Chapbook displays as it is written: a variable, an expression or an insert it does not know.
  const INSERT = /\{[A-Za-z_][\w.]*(?:[ \w]*:[^{}]*|\([^{}]*| ?[-+*/%?<>=&|][^{}]*)?\}/g;

  /** What a page displays because of a mistake: errors, and links to passages that do not exist. */
  function faults(pieces) {
    const found = [];
    const words = current() === chapbook ? pieces.map((piece) => piece.label ?? piece).join(" ") : "";
    for (const insert of words.match(INSERT) || []) {
      found.push(["error page", `Chapbook knows no such variable or insert: ${insert}`]);
    }
    for (const root of current().roots()) {
      for (const error of root.querySelectorAll("tw-error.error, .error-view > .error")) {
        found.push(["error page", error.firstChild ? error.firstChild.textContent : ""]);
      }
      for (const link of root.querySelectorAll("tw-broken-link, .link-broken")) {
        const target = link.getAttribute("data-passage") || link.getAttribute("passage-name");
        found.push(["broken link", target || link.textContent]);
      }
    }
    return found.slice(0, MAX_FAULTS).map((parts) => parts.map((part) => part.slice(0, 300)));
  }

  function detectFormat() {
    if (globalThis.SugarCube) return sugarcube;
    const data = find("tw-storydata");
    const formatName = ((data && data.getAttribute("format")) || "").toLowerCase();
    const match = [harlowe, sugarcube, chapbook, snowman].find((format) =>
      formatName.startsWith(format.name.toLowerCase()),
    );
    if (match) return match;
    if (drrn.harlowe || find("tw-story tw-link")) return harlowe;
    if (find("[data-cb-go],#page article") || globalThis.engine?.state) return chapbook;
    if (globalThis.tale && globalThis.state?.history) return twine1;
    return globalThis.story && globalThis.passage ? snowman : unknown;
  }

  let adapter = null;
  const current = () => {
    if (adapter === null && document.readyState === "complete") adapter = detectFormat();
    return adapter || detectFormat();
  };

  function version() {
    const data = find("tw-storydata");
    return (
      (data && data.getAttribute("format-version")) ||
      attempt(() => String(globalThis.SugarCube.version), "")
    );
  }

  drrn.format = {
    /** Buttons and bars of the format, not of the story. */
    own: (element) => {
      const id = element.id;
      if (id && FURNITURE.has(id)) return true;
      if (element.hasAttribute("data-cb-restart")) return true;
      return (
        element.hasAttribute("class") &&
        FURNITURE_CLASSES.some((name) => element.classList.contains(name))
      );
    },
    about: () => ({ name: current().name, version: version() }),
    roots: () => current().roots(),
    faults: (pieces) => attempt(() => faults(pieces), []),
    sideBar: () => attempt(() => current().sideBar(), []),
    passage: () => String(current().passage()),
    variables: () => members(allEntries(current().variables() || {}), 0),
    reseed: () => reseed(false),
    history: () => Array.from(current().history(), String),
    moment: () => attempt(() => current().moment(), null),
    fresh: () => attempt(() => current().fresh(), false),
    beyond: () => attempt(() => current().beyond(), null),
    plain: (value) => plain(value, 0),
    save: () => current().save(),
    present: () => current().present(),
    restore: (saved, values) => current().restore(saved, values),
  };
})(globalThis.__drrn);
