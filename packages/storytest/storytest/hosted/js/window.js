// The window: location, history, storage, navigator, screen, media queries and more.
(function (drrn) {
  "use strict";
  const window = globalThis;

  class Window extends EventTarget {}
  drrn.expose("Window", Window);
  Object.setPrototypeOf(window, Window.prototype);
  for (const name of ["listenerMap", "handlerMap"]) drrn.expose(name, null);
  drrn.expose("event", undefined);
  drrn.defineHandlers(window);
  for (const name of ["self", "top", "parent", "frames"]) drrn.expose(name, window);

  const home = "https://story.invalid/story.html";
  const entries = [{ url: home, state: null }];
  let position = 0;
  const currentUrl = () => new URL(entries[position].url);

  /** A page cannot be left: the driver is notified and starts it again. */
  function leave() {
    drrn.restarted = true;
  }

  /** Navigates within the page. */
  function go(address) {
    const target = drrn.resolve(String(address));
    const old = entries[position].url;
    if (target.split("#")[0] !== old.split("#")[0]) return leave();
    if (target === old) return;
    entries.splice(++position, Infinity, { url: target, state: null });
    notifyMove(old, true);
  }
  function notifyMove(old, withPopstate) {
    drrn.clock.later(0, () => {
      const now = entries[position].url;
      if (withPopstate) {
        window.dispatchEvent(new PopStateEvent("popstate", { state: entries[position].state }));
      }
      if (now.split("#")[1] !== old.split("#")[1]) {
        window.dispatchEvent(new HashChangeEvent("hashchange", { oldURL: old, newURL: now }));
      }
    });
  }

  class Location {
    assign(address) {
      go(address);
    }
    replace(address) {
      const target = drrn.resolve(String(address));
      const old = entries[position].url;
      if (target.split("#")[0] !== old.split("#")[0]) return leave();
      entries[position] = { url: target, state: null };
      if (target !== old) notifyMove(old, false);
    }
    reload() {
      leave();
    }
    toString() {
      return this.href;
    }
  }
  for (const part of [
    "href", "protocol", "host", "hostname", "port", "pathname", "search", "hash", "origin",
  ]) {
    Object.defineProperty(Location.prototype, part, {
      enumerable: true,
      get: () => (part === "href" ? entries[position].url : currentUrl()[part]),
      set(value) {
        if (part === "href") return go(value);
        const url = currentUrl();
        url[part] = value;
        go(url.href);
      },
    });
  }
  Location.prototype.ancestorOrigins = [];
  drrn.expose("Location", Location);
  const location = new Location();
  Object.defineProperty(window, "location", {
    enumerable: true,
    configurable: true,
    get: () => location,
    set: (address) => go(address),
  });

  const entry = (state, address) => ({
    url: address === undefined || address === null
      ? entries[position].url
      : drrn.resolve(String(address)),
    state: state === undefined ? null : structuredClone(state),
  });

  class History {
    get length() {
      return entries.length;
    }
    get state() {
      return entries[position].state;
    }
    pushState(state, _, address) {
      entries.splice(position + 1, Infinity, entry(state, address));
      position += 1;
    }
    replaceState(state, _, address) {
      entries[position] = entry(state, address);
    }
    go(steps = 0) {
      const to = position + Number(steps);
      if (steps === 0) return location.reload();
      if (to < 0 || to >= entries.length) return;
      drrn.clock.later(0, () => {
        const old = entries[position].url;
        position = to;
        notifyMove(old, true);
      });
    }
    back() {
      this.go(-1);
    }
    forward() {
      this.go(1);
    }
  }
  History.prototype.scrollRestoration = "auto";
  drrn.expose("History", History);
  drrn.expose("history", new History());

  /** Storage in memory, behind a Proxy because keys are also properties. */
  class Storage {
    get length() {
      return this.itemMap.size;
    }
    key(index) {
      return [...this.itemMap.keys()][index] ?? null;
    }
    getItem(key) {
      return this.itemMap.get(String(key)) ?? null;
    }
    setItem(key, value) {
      this.itemMap.set(String(key), String(value));
    }
    removeItem(key) {
      this.itemMap.delete(String(key));
    }
    clear() {
      this.itemMap.clear();
    }
  }
  drrn.expose("Storage", Storage);
  function storage() {
    const store = Object.defineProperty(new Storage(), "itemMap", { value: new Map() });
    return new Proxy(store, {
      get(target, key) {
        if (!(key in target)) return target.itemMap.get(key) ?? undefined;
        return typeof target[key] === "function" ? target[key].bind(target) : target[key];
      },
      set: (target, key, value) => (target.itemMap.set(String(key), String(value)), true),
      has: (target, key) => key in target || target.itemMap.has(key),
      deleteProperty: (target, key) => (target.itemMap.delete(key), true),
      ownKeys: (target) => ["itemMap", ...target.itemMap.keys()],
      getOwnPropertyDescriptor: (target, key) =>
        target.itemMap.has(key)
          ? { value: target.itemMap.get(key), writable: true, enumerable: true, configurable: true }
          : Object.getOwnPropertyDescriptor(target, key),
    });
  }
  drrn.expose("localStorage", storage());
  drrn.expose("sessionStorage", storage());

  const agent =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
  const navigator = {
    userAgent: agent, appVersion: agent.slice(
      8,
    ), appName: "Netscape", appCodeName: "Mozilla", product: "Gecko", vendor: "Google Inc.",
    platform: "Linux x86_64", language: "en-US", languages: Object.freeze([
      "en-US", "en",
    ]), onLine: true, cookieEnabled: true, doNotTrack: null,
    maxTouchPoints: 0, hardwareConcurrency: 4, webdriver: false, plugins: [], mimeTypes: [], pdfViewerEnabled: false,
    clipboard: { writeText: () => Promise.resolve(), readText: () => Promise.resolve("") },
    permissions: { query: () => Promise.resolve({ state: "denied", addEventListener() {} }) },
    javaEnabled: () => false, vibrate: () => false, sendBeacon: () => false, getGamepads: () => [],
  };
  drrn.expose("navigator", navigator);
  const screen = {
    width: 1280, height: 800, availWidth: 1280, availHeight: 800, availTop: 0, availLeft: 0,
    colorDepth: 24, pixelDepth: 24,
  };
  drrn.expose("screen", {
    ...screen,
    orientation: { type: "landscape-primary", angle: 0, addEventListener() {} },
  });
  const visualViewport = Object.assign(new EventTarget(), {
    width: 1280, height: 800, scale: 1, offsetLeft: 0, offsetTop: 0, pageLeft: 0, pageTop: 0,
  });
  const values = {
    innerWidth: 1280, innerHeight: 800, outerWidth: 1280, outerHeight: 800, screenX: 0, screenY: 0, scrollX: 0, scrollY: 0, pageXOffset: 0,
    pageYOffset: 0, devicePixelRatio: 1, length: 0, closed: false, opener: null, frameElement: null, origin: "https://story.invalid", name: "",
    status: "", isSecureContext: true, visualViewport, clientInformation: navigator, external: {}, chrome: {},
  };
  for (const [name, value] of Object.entries(values)) drrn.expose(name, value);
  for (const name of [
    "scroll", "scrollTo", "scrollBy", "focus", "blur", "stop", "print", "moveTo", "resizeTo",
    "close", "postMessage", "captureEvents", "releaseEvents",
  ]) {
    drrn.expose(name, function () {});
  }
  drrn.expose("open", () => null);

  drrn.expose("matchMedia", (query) => {
    const list = Object.assign(new EventTarget(), {
      media: String(query),
      matches: drrn.mediaHolds(String(query)),
      onchange: null,
    });
    list.addListener = list.removeListener = function () {};
    return list;
  });
  drrn.expose("CSS", {
    supports: (property, value) =>
      (value === undefined ? true : drrn.knownProperties.has(property)),
    escape: (text) =>
      String(text).replace(/^(-?)(\d)/, "$1\\3$2 ").replace(/[^-\w\u0080-\uFFFF\\ ]/g, "\\$&"),
  });
  drrn.expose("structuredClone", (value) => drrn.copy(value, new Map()));
  drrn.expose("queueMicrotask", (act) => void Promise.resolve().then(act).catch(drrn.report));
  drrn.expose("reportError", (error) => drrn.uncaught(error));

  function emptyCopy(value) {
    if (Array.isArray(value)) return [];
    if (value instanceof Map) return new Map();
    if (value instanceof Set) return new Set();
    return value instanceof Error ? new value.constructor(value.message) : {};
  }
  drrn.copy = function (value, copies) {
    if (typeof value === "function" || typeof value === "symbol") {
      throw new DOMException(`${String(value)} could not be cloned.`, "DataCloneError");
    }
    if (value === null || typeof value !== "object") return value;
    if (copies.has(value)) return copies.get(value);
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (ArrayBuffer.isView(value)) return value.slice();
    if (value instanceof Node) {
      throw new DOMException("A node could not be cloned.", "DataCloneError");
    }
    const copy = emptyCopy(value);
    copies.set(value, copy);
    if (value instanceof Map) {
      value.forEach((each, key) => copy.set(drrn.copy(key, copies), drrn.copy(each, copies)));
    } else if (value instanceof Set) value.forEach((each) => copy.add(drrn.copy(each, copies)));
    else for (const key of Object.keys(value)) copy[key] = drrn.copy(value[key], copies);
    return copy;
  };
})(globalThis.__drrn);
