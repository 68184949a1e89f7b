// What a story keeps outside its engine's variables: globals of the author's scripts, SugarCube's setup and settings.
(function (drrn) {
  "use strict";

  const WORD = /[A-Za-z_$][\w$]*/g;
  const LONGEST = 4000; // characters that are kept as they are; of longer ones a hash is
  // What engines put there themselves: it changes with every page, and their states hold it already.
  const ENGINES = new Set(["SugarCube", "State", "Engine", "Story", "Config", "Macro", "Save", "UI", "jQuery", "$", "_",
    "story", "state", "tale", "passage", "engine", "s", "p", "setup", "settings", "window", "marked", "Harlowe",
    "onpopstate", "onerror", "onresize", "testplay", "version", "macros", "params", "prerender", "postrender"]);

  // By which a story keeps something in the browser's storage.
  const KEEPS = /\b(?:memorize|recall)\s*\(|(?<!\()\bmetadata\b|\b(?:local|session)Storage\b|<<(?:remember|forget)\b|\bSave\s*\.|\((?:save-?game|load-?game|saved-?games)\s*:/i;

  let before = new Set(); // names of globals that were there before the story
  let keeps = null; // whether the story may use the browser's storage
  let names = null; // that the author's code may use as globals

  /** Before the story's scripts: whatever is there now is the browser's. */
  drrn.noteGlobals = () => {
    before = new Set(Object.getOwnPropertyNames(globalThis));
    names = null;
    keeps = null;
  };

  /** What stands in the browser's storage, as text. */
  drrn.stored = () => JSON.stringify([localStorage, sessionStorage].map((storage) => Object.entries({ ...storage }).sort()));

  drrn.storeAgain = (text) => {
    const kept = JSON.parse(text);
    [localStorage, sessionStorage].forEach((storage, place) => {
      storage.clear();
      for (const [name, value] of kept[place]) storage.setItem(name, value);
    });
  };

  /** The browser's storage, where the story may keep something in it; else null: the engine's own notes do not matter. */
  drrn.storage = () => {
    if (keeps === null) {
      const parts = document.querySelectorAll("tw-storydata script,#twine-user-script,tw-passagedata,[tiddler]");
      keeps = Array.from(parts).some((part) => KEEPS.test(part.textContent));
    }
    return keeps ? drrn.stored() : null;
  };

  function authorsCode() {
    const scripts = document.querySelectorAll("tw-storydata script,tw-passagedata[tags~=script],[tiddler][tags~=script]");
    const pages = document.querySelectorAll("tw-passagedata,[tiddler]");
    const within = Array.from(pages, (page) => page.textContent).filter((text) => /<script|<<script|<<run|<%|\bwindow\b/i.test(text));
    return [...Array.from(scripts, (script) => script.textContent), ...within].join("\n");
  }

  function candidates() {
    const words = new Set(authorsCode().match(WORD) || []);
    return Array.from(words).filter((word) => !before.has(word) && !ENGINES.has(word)).sort();
  }

  /** Plain data as it stands; undefined for anything of an engine's or a browser's own making. */
  function data(value) {
    if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value;
    if (typeof value !== "object") return undefined;
    const kind = Object.getPrototypeOf(value);
    if (kind !== null && kind !== Object.prototype && kind !== Array.prototype) return undefined;
    return drrn.format.plain(value);
  }

  function hashed(text) {
    let hash = 2166136261;
    for (let place = 0; place < text.length; place += 1) hash = Math.imul(hash ^ text.charCodeAt(place), 16777619);
    return `${text.length} ${hash >>> 0}`;
  }

  /** HAL, by which Harlowe stories play sounds: what sounds is nothing that is read. */
  function isAudioLibrary(value) {
    return Boolean(value && value.options && String(value.options.storagekey).startsWith("%%hal-"));
  }

  /** All of it as text, short. */
  drrn.beyond = () => {
    if (names === null) names = candidates();
    const kept = {};
    for (const name of names) {
      if (!Object.prototype.hasOwnProperty.call(globalThis, name)) continue;
      const value = data(globalThis[name]);
      if (value !== undefined) kept[name] = value;
    }
    if (isAudioLibrary(kept.Chapel)) delete kept.Chapel, delete kept.A;
    const more = drrn.format.beyond();
    const storage = drrn.storage();
    if (!Object.keys(kept).length && !more && storage === null) return "";
    const text = JSON.stringify(storage === null ? [kept, more] : [kept, more, storage]);
    return text.length > LONGEST ? hashed(text) : text;
  };
})(globalThis.__drrn);
