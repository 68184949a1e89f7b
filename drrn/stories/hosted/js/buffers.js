// Counts binary buffers: they are outside V8's heap, so the isolate's memory limit does not cover them.
(function (drrn) {
  "use strict";
  const MOST = 256 * 2 ** 20; // bytes of all buffers together
  let held = 0;
  const freed = new FinalizationRegistry((bytes) => (held -= bytes));

  function charged(bytes, make) {
    if (bytes > 0 && held + bytes > MOST) throw new RangeError("Array buffer allocation failed");
    const made = make();
    if (bytes > 0) {
      held += bytes;
      freed.register(made, bytes);
    }
    return made;
  }

  /** The number of bytes that a constructor allocates; a view of an existing buffer allocates none. */
  function wanted(given, each) {
    if (given === null || given === undefined) return 0;
    if (typeof given !== "object") return Number(given) * each;
    return given instanceof RealArrayBuffer ? 0 : Number(given.length ?? 0) * each;
  }

  const RealArrayBuffer = globalThis.ArrayBuffer;
  const names = ["ArrayBuffer", ...Object.getOwnPropertyNames(globalThis).filter((name) => /(?:Int|Uint|Float)\w*Array$/.test(name))];
  for (const name of names) {
    const real = globalThis[name];
    const counted = new Proxy(real, {
      construct: (target, given, made) =>
        charged(wanted(given[0], real.BYTES_PER_ELEMENT ?? 1), () => Reflect.construct(target, given, made === counted ? target : made)),
    });
    Object.defineProperty(real.prototype, "constructor", { value: counted, writable: true, configurable: true });
    drrn.expose(name, counted);
  }
  // Growing in place would bypass the count.
  for (const name of ["resize", "transfer", "transferToFixedLength"]) delete RealArrayBuffer.prototype[name];
})(globalThis.__drrn);
