// Limits sizes where V8 does not: its built-in loops over a huge length ignore the time limit, and
// a list that is too long aborts the whole process.
(function (drrn) {
  "use strict";
  const MAX_SIZE = 2 ** 25; // members of a list, or characters that one call creates or splits
  const { apply } = Reflect;

  function limit(owner, name, sizeOf, message) {
    const real = owner[name];
    if (typeof real !== "function") return;
    const guard = { [name](...args) {
      if (sizeOf(this, args) > MAX_SIZE) throw new RangeError(message);
      return apply(real, this, args);
    } }[name];
    Object.defineProperty(guard, "length", { value: real.length, configurable: true });
    Object.defineProperty(owner, name, {
      value: guard,
      writable: true,
      configurable: true,
      enumerable: false,
    });
    drrn.native(guard);
  }

  const ownLength = (list) => list.length;
  for (const name of [
    "fill", "lastIndexOf", "reverse", "copyWithin", "flat", "toReversed", "toSorted", "toSpliced",
    "with",
  ]) {
    limit(Array.prototype, name, ownLength, "Invalid array length");
  }
  limit(Array, "from", (_, [source]) => source?.length, "Invalid array length");
  for (const name of ["matchAll", "replaceAll", "normalize"]) {
    limit(String.prototype, name, ownLength, "Invalid string length");
  }
  limit(
    String.prototype,
    "repeat",
    (text, [times]) => String(text).length * times,
    "Invalid string length",
  );
  for (const name of ["padStart", "padEnd"]) {
    limit(String.prototype, name, (_, [length]) => length, "Invalid string length");
  }
})(globalThis.__drrn);
