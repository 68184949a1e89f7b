// Caches Harlowe's parsed markup: it parses a passage at every visit, which is most of the time of a click.
(function (drrn) {
  "use strict";

  const MOST = 5000; // cached sources; text that never repeats must not accumulate
  const kept = new Map(); // source → [{asked, root}]

  /** The tree of a root token, from the engine's lexer the first time; rendering does not change it. */
  drrn.lexed = function lexed(lex, token, whole) {
    const asked = [token.start, token.place, token.innerMode, whole];
    const known = kept.get(token.text) || [];
    const found = known.find((entry) => entry.asked.every((part, place) => part === asked[place]));
    if (found) return found.root;
    const root = lex(token, whole);
    if (kept.size > MOST) kept.clear();
    kept.set(token.text, [...known, { asked, root }]);
    return root;
  };
})(globalThis.__drrn);
