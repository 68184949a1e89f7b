// The first file: the window is the global object, and what the other files share.
(function () {
  "use strict";
  const drrn = {};
  Object.defineProperty(globalThis, "__drrn", { value: drrn });

  /** A name of the window: writable, and not listed, as a browser's classes are. */
  const exposed = [];
  drrn.expose = function (name, value) {
    exposed.push(value);
    if (typeof value === "function" && value.prototype && !Object.hasOwn(value.prototype, Symbol.toStringTag)) {
      Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true }); // "[object NodeList]": jQuery looks
    }
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  };

  /** A method of ours that takes the place of V8's own. */
  drrn.native = (method) => exposed.push(method);

  /** Copies methods and accessors, as they are, onto a prototype. */
  drrn.mix = function (prototype, members) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
      Object.defineProperty(prototype, name, { ...descriptor, enumerable: true, configurable: true });
    }
  };

  /** Our methods print as native code: jQuery takes the fast way (querySelectorAll) only where it is native. */
  drrn.passForNative = function () {
    const ours = new WeakSet();
    for (const value of exposed) {
      if (typeof value !== "function") continue;
      ours.add(value);
      for (const { value: method } of Object.values(Object.getOwnPropertyDescriptors(value.prototype ?? {}))) {
        if (typeof method === "function") ours.add(method);
      }
    }
    const written = Function.prototype.toString;
    const toString = function toString() {
      return ours.has(this) ? `function ${this.name}() { [native code] }` : written.call(this);
    };
    ours.add(toString);
    Object.defineProperty(Function.prototype, "toString", { value: toString, writable: true, configurable: true });
  };

  drrn.expose("window", globalThis);
  // What bare V8 has and a page has not: timers of the host's own, and memory shared between threads.
  for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly"]) delete globalThis[name];
  globalThis.__timer_manager = undefined;
})();
