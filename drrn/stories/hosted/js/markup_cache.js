// Harlowe's markup read once: it reads a passage's source anew at every visit, which is most of the time of a click.
(function (drrn) {
  "use strict";

  const MOST = 5000; // sources kept; text that is never the same again must not pile up
  const kept = new Map(); // source → [{asked, root}]

  /** The tree of a root token, by the engine's own lexer the first time; rendering only reads it. */
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
