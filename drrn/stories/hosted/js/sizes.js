// Limits sizes where V8 does not: its built-in loops over a huge length ignore the time limit, and a list that is too
// long ends the whole process.
(function (drrn) {
  "use strict";
  const MOST = 2 ** 25; // members of a list, or characters that one call creates or splits
  const { apply } = Reflect;

  function bounded(owner, name, sizeOf, message) {
    const real = owner[name];
    if (typeof real !== "function") return;
    const guarded = { [name](...given) {
      if (sizeOf(this, given) > MOST) throw new RangeError(message);
      return apply(real, this, given);
    } }[name];
    Object.defineProperty(guarded, "length", { value: real.length, configurable: true });
    Object.defineProperty(owner, name, { value: guarded, writable: true, configurable: true, enumerable: false });
    drrn.native(guarded);
  }

  const ownLength = (it) => it.length;
  for (const name of ["fill", "lastIndexOf", "reverse", "copyWithin", "flat", "toReversed", "toSorted", "toSpliced", "with"]) {
    bounded(Array.prototype, name, ownLength, "Invalid array length");
  }
  bounded(Array, "from", (_, [source]) => source?.length, "Invalid array length");
  for (const name of ["matchAll", "replaceAll", "normalize"]) {
    bounded(String.prototype, name, ownLength, "Invalid string length");
  }
  bounded(String.prototype, "repeat", (text, [times]) => String(text).length * times, "Invalid string length");
  for (const name of ["padStart", "padEnd"]) bounded(String.prototype, name, (_, [length]) => length, "Invalid string length");
})(globalThis.__drrn);
