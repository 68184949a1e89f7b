// State outside the engine's variables: globals of scripts, storage, SugarCube's settings.
(function (drrn) {
  "use strict";

  const WORD = /[A-Za-z_$][\w$]*/g;
  const MAX_LENGTH = 4000; // characters; longer values are replaced by a hash
  // Globals of the engines: they change with every page, and the saved states contain them.
  const ENGINES = new Set(["SugarCube", "State", "Engine", "Story", "Config", "Macro", "Save", "UI", "jQuery", "$", "_",
    "story", "state", "tale", "passage", "engine", "s", "p", "setup", "settings", "window", "marked", "Harlowe",
    "onpopstate", "onerror", "onresize", "testplay", "version", "macros", "params", "prerender", "postrender"]);

  // Code by which a story uses the browser's storage.
  const STORAGE_CODE =
    /\b(?:memorize|recall)\s*\(|(?<!\()\bmetadata\b|\b(?:local|session)Storage\b|<<(?:remember|forget)\b|\bSave\s*\.|\((?:save-?game|load-?game|saved-?games)\s*:/i;

  let before = new Set(); // names of globals that existed before the story
  let usesStorage = null; // whether the story may use the browser's storage
  let names = null; // names that the author's code may use as globals

  /** Called before the story's scripts: globals that exist now belong to the browser. */
  drrn.noteGlobals = () => {
    before = new Set(Object.getOwnPropertyNames(globalThis));
    names = null;
    usesStorage = null;
  };

  /** The browser's storage as text. */
  drrn.storageText = () =>
    JSON.stringify(
      [localStorage, sessionStorage].map((storage) => Object.entries({ ...storage }).sort()),
    );

  drrn.restoreStorage = (text) => {
    const storages = JSON.parse(text);
    [localStorage, sessionStorage].forEach((storage, index) => {
      storage.clear();
      for (const [name, value] of storages[index]) storage.setItem(name, value);
    });
  };

  /** The browser's storage if the story may use it, else null. */
  drrn.storage = () => {
    if (usesStorage === null) {
      const parts = document.querySelectorAll(
        "tw-storydata script,#twine-user-script,tw-passagedata,[tiddler]",
      );
      usesStorage = Array.from(parts).some((part) => STORAGE_CODE.test(part.textContent));
    }
    return usesStorage ? drrn.storageText() : null;
  };

  function authorsCode() {
    const scripts = document.querySelectorAll(
      "tw-storydata script,tw-passagedata[tags~=script],[tiddler][tags~=script]",
    );
    const pages = document.querySelectorAll("tw-passagedata,[tiddler]");
    const within = Array.from(pages, (page) => page.textContent)
      .filter((text) => /<script|<<script|<<run|<%|\bwindow\b/i.test(text));
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

  function hashOf(text) {
    let hash = 2166136261;
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
    }
    return `${text.length} ${hash >>> 0}`;
  }

  /** HAL plays sounds in Harlowe stories; sounds are not part of the state. */
  function isAudioLibrary(value) {
    return Boolean(value && value.options && String(value.options.storagekey).startsWith("%%hal-"));
  }

  /** All of this state as a short text. */
  drrn.beyond = () => {
    if (names === null) names = candidates();
    const values = {};
    for (const name of names) {
      if (!Object.prototype.hasOwnProperty.call(globalThis, name)) continue;
      const value = data(globalThis[name]);
      if (value !== undefined) values[name] = value;
    }
    if (isAudioLibrary(values.Chapel)) delete values.Chapel, delete values.A;
    const more = drrn.format.beyond();
    const storage = drrn.storage();
    if (!Object.keys(values).length && !more && storage === null) return "";
    const text = JSON.stringify(storage === null ? [values, more] : [values, more, storage]);
    return text.length > MAX_LENGTH ? hashOf(text) : text;
  };
})(globalThis.__drrn);
