// Counts binary buffers: V8 allocates them outside its heap, which alone has a memory limit.
(function (drrn) {
  "use strict";
  const MAX_BYTES = 256 * 2 ** 20; // bytes of all buffers together
  let totalBytes = 0;
  const registry = new FinalizationRegistry((bytes) => (totalBytes -= bytes));

  function allocate(bytes, make) {
    if (bytes > 0 && totalBytes + bytes > MAX_BYTES) {
      throw new RangeError("Array buffer allocation failed");
    }
    const buffer = make();
    if (bytes > 0) {
      totalBytes += bytes;
      registry.register(buffer, bytes);
    }
    return buffer;
  }

  /** The number of bytes that a constructor allocates; 0 for a view of a buffer. */
  function byteCount(argument, elementSize) {
    if (argument === null || argument === undefined) return 0;
    if (typeof argument !== "object") return Number(argument) * elementSize;
    return argument instanceof RealArrayBuffer ? 0 : Number(argument.length ?? 0) * elementSize;
  }

  const RealArrayBuffer = globalThis.ArrayBuffer;
  const names = [
    "ArrayBuffer",
    ...Object.getOwnPropertyNames(globalThis)
      .filter((name) => /(?:Int|Uint|Float)\w*Array$/.test(name)),
  ];
  for (const name of names) {
    const real = globalThis[name];
    const proxy = new Proxy(real, {
      construct: (target, args, newTarget) =>
        allocate(byteCount(args[0], real.BYTES_PER_ELEMENT ?? 1), () =>
          Reflect.construct(target, args, newTarget === proxy ? target : newTarget),
        ),
    });
    Object.defineProperty(real.prototype, "constructor", {
      value: proxy,
      writable: true,
      configurable: true,
    });
    drrn.expose(name, proxy);
  }
  // Growing in place would bypass the count.
  for (const name of ["resize", "transfer", "transferToFixedLength"]) {
    delete RealArrayBuffer.prototype[name];
  }
})(globalThis.__drrn);
