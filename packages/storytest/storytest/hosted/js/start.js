// The first file: makes the global object the window, and defines what the other files share.
(function () {
  "use strict";
  const drrn = {};
  Object.defineProperty(globalThis, "__drrn", { value: drrn });

  /** Defines a name on the window: writable and not enumerable, like a browser's classes. */
  const nativeValues = [];
  drrn.expose = function (name, value) {
    nativeValues.push(value);
    if (
      typeof value === "function" &&
      value.prototype &&
      !Object.hasOwn(value.prototype, Symbol.toStringTag)
    ) {
      // jQuery checks for "[object NodeList]".
      Object.defineProperty(value.prototype, Symbol.toStringTag, {
        value: name,
        configurable: true,
      });
    }
    Object.defineProperty(globalThis, name, {
      value,
      writable: true,
      configurable: true,
      enumerable: false,
    });
  };

  /** Replaces one of V8's methods. */
  drrn.native = (method) => nativeValues.push(method);

  /** Copies methods and accessors to a prototype. */
  drrn.mix = function (prototype, members) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
      Object.defineProperty(prototype, name, {
        ...descriptor,
        enumerable: true,
        configurable: true,
      });
    }
  };

  /** Our methods print as native code: jQuery uses querySelectorAll only if it is native. */
  drrn.passForNative = function () {
    const ours = new WeakSet();
    for (const value of nativeValues) {
      if (typeof value !== "function") continue;
      ours.add(value);
      for (const { value: method } of Object.values(
        Object.getOwnPropertyDescriptors(value.prototype ?? {}),
      )) {
        if (typeof method === "function") ours.add(method);
      }
    }
    const originalToString = Function.prototype.toString;
    const toString = function toString() {
      return ours.has(this)
        ? `function ${this.name}() { [native code] }`
        : originalToString.call(this);
    };
    ours.add(toString);
    Object.defineProperty(Function.prototype, "toString", {
      value: toString,
      writable: true,
      configurable: true,
    });
  };

  drrn.expose("window", globalThis);
  // Removes what V8 has and a page lacks: timers of the host, and memory shared between threads.
  for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly"]) delete globalThis[name];
  globalThis.__timer_manager = undefined;
})();
