// The browser's own dialogs, answered at once: alert is dismissed, confirm is yes, prompt has the answer of [inputs].
(function (drrn) {
  "use strict";

  const DEFAULT_ANSWER = "Alex"; // what the player is called where nothing else is said

  drrn.answers = {}; // what to answer, by the name of the variable, the box or the question asked

  /** The answer to the first of these names that has one, else the suggestion, else a name. */
  drrn.answer = function answer(names, suggestion) {
    for (const name of names) {
      const plain = String(name || "").replace(/^[$_]/, "").trim();
      for (const tried of [plain, plain.toLowerCase()]) {
        if (tried && Object.prototype.hasOwnProperty.call(drrn.answers, tried)) return drrn.answers[tried];
      }
    }
    return suggestion ? String(suggestion) : DEFAULT_ANSWER;
  };

  /** The answer to a question in words: one whose name is the question or, failing that, stands in it. */
  function asked(question, suggestion) {
    const words = String(question).toLowerCase();
    const known = Object.keys(drrn.answers);
    const named = known.filter((name) => new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`, "i").test(words));
    return drrn.answer([question, ...named, "prompt"], suggestion);
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
