// The browser's dialogs: alert is dismissed, confirm is yes, prompt has the answer of [inputs].
(function (drrn) {
  "use strict";

  const DEFAULT_ANSWER = "Alex"; // the player's name if [inputs] has none

  drrn.answers = {}; // answers by the name of the variable, the box or the question

  const bare = (name) => String(name || "").trim().replace(/^[$_]/, "");
  const small = (name) => bare(name).toLowerCase();
  const letters = (name) => small(name).replace(/[^\p{L}\p{N}]/gu, ""); // ids omit the other characters

  /** The answer to the first of these names that has one, else the suggestion, else the default name. */
  drrn.answer = function answer(names, suggestion) {
    const known = Object.keys(drrn.answers);
    for (const spelled of [bare, small, letters]) {
      for (const name of names.map(spelled).filter(Boolean)) {
        const found = known.find((key) => spelled(key) === name);
        if (found !== undefined) return drrn.answers[found];
      }
    }
    return suggestion ? String(suggestion) : DEFAULT_ANSWER;
  };

  /** The names by which [inputs] may answer a question: its variable, its words, or a name in it. */
  drrn.questionNames = function questionNames(question) {
    const asked = String(question).toLowerCase();
    const known = Object.keys(drrn.answers);
    const named = known.filter((name) => new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`, "i").test(asked));
    return [...drrn.promptedVariables(question), question, ...named, "prompt"];
  };

  function asked(question, suggestion) {
    return drrn.answer(drrn.questionNames(question), suggestion);
  }

  const dialogs = {
    alert: () => undefined,
    confirm: () => true,
    prompt: (question, suggestion) => asked(question === undefined ? "" : question, suggestion),
    print: () => undefined,
    open: () => null,
    close: () => undefined,
  };
  for (const [name, value] of Object.entries(dialogs)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
  }
})(globalThis.__drrn);
