// Caches Harlowe's parsed markup: parsing at every visit takes most of the time of a click.
(function (drrn) {
  "use strict";

  const MAX_SOURCES = 5000; // cached sources; text that never repeats must not accumulate
  const cache = new Map(); // source → [{key, root}]

  /** The cached tree of a root token, else the lexer's; rendering does not change it. */
  drrn.lexed = function lexed(lex, token, whole) {
    const key = [token.start, token.place, token.innerMode, whole];
    const entries = cache.get(token.text) || [];
    const hit = entries.find((entry) => entry.key.every((part, index) => part === key[index]));
    if (hit) return hit.root;
    const root = lex(token, whole);
    if (cache.size > MAX_SOURCES) cache.clear();
    cache.set(token.text, [...entries, { key, root }]);
    return root;
  };
})(globalThis.__drrn);
