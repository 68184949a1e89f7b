// The browser's dialogs: alert is dismissed, confirm is yes, prompt has the answer of [inputs].
(function (drrn) {
  "use strict";

  const DEFAULT_ANSWER = "Alex"; // the player's name if [inputs] has none

  drrn.answers = {}; // answers by the name of the variable, the box or the question

  const bare = (name) => String(name || "").trim().replace(/^[$_]/, "");
  const small = (name) => bare(name).toLowerCase();
  // Ids omit the other characters.
  const letters = (name) => small(name).replace(/[^\p{L}\p{N}]/gu, "");

  /** The answer to the first name that has one, else the suggestion, else the default. */
  drrn.answer = function answer(names, suggestion) {
    const keys = Object.keys(drrn.answers);
    for (const normalise of [bare, small, letters]) {
      for (const name of names.map(normalise).filter(Boolean)) {
        const match = keys.find((key) => normalise(key) === name);
        if (match !== undefined) return drrn.answers[match];
      }
    }
    return suggestion ? String(suggestion) : DEFAULT_ANSWER;
  };

  /** The names under which [inputs] may answer a question: variables, its words, names in it. */
  drrn.questionNames = function questionNames(question) {
    const text = String(question).toLowerCase();
    const keys = Object.keys(drrn.answers);
    const mentions = keys.filter((name) =>
      new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`, "i").test(text),
    );
    return [...drrn.promptVariables(question), question, ...mentions, "prompt"];
  };

  function answerTo(question, suggestion) {
    const names = drrn.questionNames(question);
    const word = drrn.wordFor(names);
    if (word) drrn.typedWords.set(question, word);
    return word || drrn.answer(names, suggestion);
  }

  const ENGINE_ERROR = /^(?:Fatal )?Error(?: \[[^\]]*\])?: (.+)$/m; // as SugarCube shows it

  /**
   * Dismiss an alert; if the engine shows an error of a script before the first page, report it.
   * Later errors are also thrown.
   */
  function alert(message) {
    const error = ENGINE_ERROR.exec(String(message));
    if (error && !drrn.format.passage()) drrn.note(error[1]);
  }

  const dialogs = {
    alert,
    confirm: () => true,
    prompt: (question, suggestion) => answerTo(question === undefined ? "" : question, suggestion),
    print: () => undefined,
    open: () => null,
    close: () => undefined,
  };
  for (const [name, value] of Object.entries(dialogs)) {
    Object.defineProperty(globalThis, name, {
      value,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }
})(globalThis.__drrn);
