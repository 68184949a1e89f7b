// State outside the engine's variables: globals of the author's scripts, SugarCube's setup and settings.
(function (drrn) {
  "use strict";

  const WORD = /[A-Za-z_$][\w$]*/g;
  const LONGEST = 4000; // characters; longer values are replaced by a hash
  // Globals of the engines: they change with every page, and the saved states contain them.
  const ENGINES = new Set(["SugarCube", "State", "Engine", "Story", "Config", "Macro", "Save", "UI", "jQuery", "$", "_",
    "story", "state", "tale", "passage", "engine", "s", "p", "setup", "settings", "window", "marked", "Harlowe",
    "onpopstate", "onerror", "onresize", "testplay", "version", "macros", "params", "prerender", "postrender"]);

  // Code by which a story uses the browser's storage.
  const KEEPS = /\b(?:memorize|recall)\s*\(|(?<!\()\bmetadata\b|\b(?:local|session)Storage\b|<<(?:remember|forget)\b|\bSave\s*\.|\((?:save-?game|load-?game|saved-?games)\s*:/i;

  let before = new Set(); // names of globals that existed before the story
  let keeps = null; // whether the story may use the browser's storage
  let names = null; // names that the author's code may use as globals

  /** Called before the story's scripts: globals that exist now belong to the browser. */
  drrn.noteGlobals = () => {
    before = new Set(Object.getOwnPropertyNames(globalThis));
    names = null;
    keeps = null;
  };

  /** The browser's storage as text. */
  drrn.stored = () => JSON.stringify([localStorage, sessionStorage].map((storage) => Object.entries({ ...storage }).sort()));

  drrn.storeAgain = (text) => {
    const kept = JSON.parse(text);
    [localStorage, sessionStorage].forEach((storage, place) => {
      storage.clear();
      for (const [name, value] of kept[place]) storage.setItem(name, value);
    });
  };

  /** The browser's storage if the story may use it, else null: entries of the engine do not matter. */
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

  /** Plain data unchanged; undefined for objects of the engine or the browser. */
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

  /** HAL plays sounds in Harlowe stories; sounds are not part of the state. */
  function isAudioLibrary(value) {
    return Boolean(value && value.options && String(value.options.storagekey).startsWith("%%hal-"));
  }

  /** All of this state as a short text. */
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
