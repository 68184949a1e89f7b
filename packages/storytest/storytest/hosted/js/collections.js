// Live collections of elements, token lists (classList), data sets and attribute maps.
(function (drrn) {
  "use strict";
  const tree = drrn.tree;

  /** A live collection without a Proxy: its indices are accessors of the prototype. */
  class HTMLCollection {
    constructor(root, find) {
      Object.defineProperty(this, "live", { value: { root, find, version: -1, nodes: null } });
    }
    get length() {
      return current(this).length;
    }
    item(index) {
      return current(this)[index] ?? null;
    }
    namedItem(name) {
      return (
        current(this).find((node) => node.id === name || node.getAttribute("name") === name) ??
        null
      );
    }
    [Symbol.iterator]() {
      return current(this)[Symbol.iterator]();
    }
  }
  drrn.expose("HTMLCollection", HTMLCollection);

  let indices = 0;
  function current(collection) {
    const live = collection.live;
    if (live.version !== tree.version) {
      live.nodes = live.find(live.root);
      live.version = tree.version;
      while (indices <= live.nodes.length) defineIndex(indices++);
    }
    return live.nodes;
  }
  function defineIndex(index) {
    Object.defineProperty(HTMLCollection.prototype, index, {
      configurable: true,
      get() {
        return current(this)[index];
      },
      set() {},
    });
  }
  for (; indices < 64; indices++) defineIndex(indices);

  drrn.collection = (root, find) => new HTMLCollection(root, find);
  drrn.collection.nodes = current;

  drrn.byTag = function (root, name) {
    const text = String(name);
    const lower = text.toLowerCase();
    return drrn.collection(root, (from) => {
      const all = drrn.descendants(from);
      return text === "*"
        ? all
        : all.filter((element) => element.localName === lower || element.localName === text);
    });
  };
  drrn.byClass = function (root, names) {
    const classes = words(String(names));
    return drrn.collection(root, (from) =>
      classes.length
        ? drrn.descendants(from)
          .filter((element) => classes.every((name) => element.hasClass(name)))
        : []
    );
  };

  const words = (drrn.words = (text) => text.split(/[ \t\n\f\r]+/).filter((word) => word !== ""));

  /** The words of an attribute, such as the classes. */
  class DOMTokenList {
    constructor(element, attribute) {
      this.element = element;
      this.attribute = attribute;
      Object.defineProperty(this, "tokens", { writable: true, value: null });
      Object.defineProperty(this, "source", { writable: true, value: null });
    }
    list() {
      const text = this.element.getAttribute(this.attribute) ?? "";
      if (this.source !== text) {
        this.source = text;
        this.tokens = [...new Set(words(text))];
      }
      return this.tokens;
    }
    get length() {
      return this.list().length;
    }
    get value() {
      return this.element.getAttribute(this.attribute) ?? "";
    }
    set value(text) {
      this.element.setAttribute(this.attribute, text);
    }
    item(index) {
      return this.list()[index] ?? null;
    }
    contains(token) {
      return this.list().includes(String(token));
    }
    add(...tokens) {
      const list = this.list();
      const more = tokens.map(checkToken).filter((token) => !list.includes(token));
      if (more.length) this.value = [...list, ...new Set(more)].join(" ");
    }
    remove(...tokens) {
      const removals = tokens.map(checkToken);
      const list = this.list();
      if (list.some((token) => removals.includes(token))) {
        this.value = list.filter((token) => !removals.includes(token)).join(" ");
      }
    }
    toggle(token, force) {
      const present = force === undefined ? !this.contains(token) : !!force;
      if (present) this.add(token);
      else this.remove(token);
      return present;
    }
    replace(token, other) {
      const list = this.list();
      if (!list.includes(token)) return false;
      this.value = [...new Set(list.map((each) => (each === token ? other : each)))].join(" ");
      return true;
    }
    supports() {
      return true;
    }
    forEach(callback, self) {
      this.list().forEach((token, index) => callback.call(self, token, index, this));
    }
    [Symbol.iterator]() {
      return this.list()[Symbol.iterator]();
    }
    toString() {
      return this.value;
    }
  }
  for (let index = 0; index < 64; index++) {
    Object.defineProperty(DOMTokenList.prototype, index, {
      get() {
        return this.list()[index];
      },
    });
  }
  drrn.expose("DOMTokenList", DOMTokenList);

  function checkToken(token) {
    const text = String(token);
    if (text === "") throw new DOMException("The token provided must not be empty.", "SyntaxError");
    if (/[ \t\n\f\r]/.test(text)) {
      throw new DOMException(
        `The token provided ('${text}') contains HTML space characters, which are not valid in tokens.`,
        "InvalidCharacterError",
      );
    }
    return text;
  }

  class Attr {
    constructor(element, name) {
      this.ownerElement = element;
      this.name = this.nodeName = this.localName = name;
      this.specified = true;
      this.nodeType = 2;
      this.ownValue = "";
    }
    get value() {
      return this.ownerElement ? this.ownerElement.getAttribute(this.name) : this.ownValue;
    }
    set value(text) {
      if (this.ownerElement) this.ownerElement.setAttribute(this.name, text);
      else this.ownValue = String(text);
    }
    get nodeValue() {
      return this.value;
    }
    set nodeValue(text) {
      this.value = text;
    }
    get textContent() {
      return this.value;
    }
  }
  drrn.expose("Attr", Attr);

  class NamedNodeMap extends Array {
    static get [Symbol.species]() {
      return Array;
    }
    item(index) {
      return this[index] ?? null;
    }
    getNamedItem(name) {
      return this.find((attribute) => attribute.name === name) ?? null;
    }
    setNamedItem(attribute) {
      this.element.setAttributeNode(attribute);
    }
    removeNamedItem(name) {
      this.element.removeAttribute(name);
    }
  }
  drrn.expose("NamedNodeMap", NamedNodeMap);
  drrn.attributesOf = function (element) {
    const map = new NamedNodeMap();
    Object.defineProperty(map, "element", { value: element });
    for (const name of element.getAttributeNames()) {
      const attribute = new Attr(element, name);
      map.push(attribute);
      if (!(name in map)) Object.defineProperty(map, name, { value: attribute });
    }
    return map;
  };

  const toAttribute = (key) =>
    "data-" + key.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase());
  const fromAttribute = (name) =>
    name.slice(5).replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
  const dataset = {
    get: (element, key) =>
      (typeof key === "string" ? (element.getAttribute(toAttribute(key)) ?? undefined) : undefined),
    set: (element, key, value) => (element.setAttribute(toAttribute(key), value), true),
    has: (element, key) => typeof key === "string" && element.hasAttribute(toAttribute(key)),
    deleteProperty: (element, key) => (element.removeAttribute(toAttribute(key)), true),
    ownKeys: (element) =>
      element.getAttributeNames().filter((name) => name.startsWith("data-")).map(fromAttribute),
    getOwnPropertyDescriptor(element, key) {
      if (typeof key !== "string" || !element.hasAttribute(toAttribute(key))) return undefined;
      return {
        value: element.getAttribute(toAttribute(key)),
        writable: true,
        enumerable: true,
        configurable: true,
      };
    },
  };
  class DOMStringMap {}
  drrn.expose("DOMStringMap", DOMStringMap);
  /** The data-… attributes as an object; the target of the Proxy must be extensible. */
  drrn.dataset = (element) => {
    const handler = {};
    for (const [trap, act] of Object.entries(dataset)) {
      handler[trap] = (_, ...rest) => act(element, ...rest);
    }
    return new Proxy(new DOMStringMap(), handler);
  };
})(globalThis.__drrn);
