// The document: nodes, cookies, commands; DOMParser; hooks for scripts and custom elements.
(function (drrn) {
  "use strict";
  const HTML = "http://www.w3.org/1999/xhtml";
  const SVG = "http://www.w3.org/2000/svg";

  const OLD_EVENT_NAMES = {
    HTMLEvents: "Event",
    Events: "Event",
    MouseEvents: "MouseEvent",
    UIEvents: "UIEvent",
  };

  class Document extends Node {
    constructor() {
      super(null);
      this.readyState = "loading";
      this.cookieJar = "";
      this.currentScript = null;
      this.idCache = new Map();
      this.quirks = false; // a page without a document type: paragraphs can contain tables
    }
    get nodeType() {
      return 9;
    }
    get nodeName() {
      return "#document";
    }
    get textContent() {
      return null;
    }
    set textContent(value) {}
    get compatMode() {
      return this.quirks ? "BackCompat" : "CSS1Compat";
    }
    get defaultView() {
      return this === globalThis.document ? globalThis : null;
    }
    get parentWindow() {
      return this.defaultView;
    }
    get documentElement() {
      return this.firstElementChild;
    }
    get doctype() {
      return this.childNodes.find((child) => child.nodeType === 10) ?? null;
    }
    part(name) {
      const root = this.documentElement;
      for (let child = root && root.firstChild; child; child = child.nextSibling) {
        if (child.localName === name) return child;
      }
      return null;
    }
    get head() {
      return this.part("head");
    }
    get body() {
      return this.part("body");
    }
    set body(element) {
      if (this.body) this.body.replaceWith(element);
      else this.documentElement.appendChild(element);
    }
    get title() {
      const element = this.querySelector("title");
      return element ? element.textContent.replace(/[ \t\n\f\r]+/g, " ").trim() : "";
    }
    set title(text) {
      let element = this.querySelector("title");
      if (!element && this.head) element = this.head.appendChild(this.createElement("title"));
      if (element) element.textContent = text;
    }
    get cookie() {
      return this.cookieJar;
    }
    set cookie(text) {
      const pair = String(text).split(";")[0];
      const rest = this.cookieJar
        .split("; ")
        .filter((each) => each && each.split("=")[0] !== pair.split("=")[0]);
      if (!/expires=Thu, 01 Jan 1970|max-age=(?:0|-)/i.test(text)) rest.push(pair);
      this.cookieJar = rest.join("; ");
    }
    get activeElement() {
      return drrn.activeElement();
    }
    get location() {
      return globalThis.location;
    }
    set location(address) {
      globalThis.location.href = address;
    }
    get URL() {
      return globalThis.location.href;
    }
    get documentURI() {
      return globalThis.location.href;
    }
    get forms() {
      return drrn.byTag(this, "form");
    }
    get images() {
      return drrn.byTag(this, "img");
    }
    get scripts() {
      return drrn.byTag(this, "script");
    }
    get links() {
      return drrn.collection(this, (from) => [...from.querySelectorAll("a[href], area[href]")]);
    }
    get all() {
      return drrn.byTag(this, "*");
    }
    get styleSheets() {
      return drrn.nodeList([...this.querySelectorAll("style")].map((element) => element.sheet));
    }
    get implementation() {
      return implementation;
    }
    hasFocus() {
      return true;
    }
    getElementById(id) {
      const name = String(id);
      const cached = this.idCache.get(name);
      if (cached && cached.attributeMap.get("id") === name && cached.getRootNode() === this) {
        return cached;
      }
      const match = name === ""
        ? null
        : walk(this, (element) => element.attributeMap.get("id") === name);
      if (match) this.idCache.set(name, match);
      else this.idCache.delete(name);
      return match;
    }
    getElementsByName(name) {
      return drrn.collection(this, (from) =>
        drrn.descendants(from)
          .filter((element) => element.attributeMap.get("name") === String(name)),
      );
    }
    getElementsByTagName(name) {
      return drrn.byTag(this, name);
    }
    getElementsByTagNameNS(_, name) {
      return drrn.byTag(this, name);
    }
    getElementsByClassName(names) {
      return drrn.byClass(this, names);
    }
    /** Create an element of its tag's class; upgrade: run a custom element's constructor. */
    elementNamed(name, namespace, upgrade = true) {
      if (namespace !== HTML) {
        return namespace === SVG
          ? new SVGElement(this, name, namespace)
          : new Element(this, name, namespace);
      }
      const custom = drrn.customNames.get(name);
      if (custom && upgrade) {
        const element = new custom();
        element.ownerDocument = this;
        return element;
      }
      const Class =
        drrn.elementClasses.get(name) ??
        (name.includes("-") || knownTags.has(name) ? HTMLElement : HTMLUnknownElement);
      const element = new Class(this, name);
      if (name === "style") drrn.registerSheet(element);
      return element;
    }
    createElement(name) {
      const text = String(name);
      if (!/^[a-zA-Z:_\u0080-\uFFFF][^\s/>\0]*$/.test(text)) {
        throw new DOMException(
          `The tag name provided ('${text}') is not a valid name.`,
          "InvalidCharacterError",
        );
      }
      const element = this.elementNamed(text.toLowerCase(), HTML);
      if (element.localName === "script") {
        element.mayRun = true;
        drrn.hooks.enabled = true;
      }
      return element;
    }
    createElementNS(namespace, name) {
      return namespace === HTML
        ? this.createElement(name)
        : this.elementNamed(String(name), namespace);
    }
    createTextNode(data) {
      return new Text(data, this);
    }
    createComment(data) {
      return new Comment(data, this);
    }
    createDocumentFragment() {
      return new DocumentFragment(this);
    }
    createAttribute(name) {
      return new Attr(null, String(name).toLowerCase());
    }
    createEvent(kind) {
      const Class = globalThis[OLD_EVENT_NAMES[kind] ?? kind] ?? Event;
      return new Class("");
    }
    createRange() {
      return new Range(this);
    }
    createTreeWalker(root, show, filter) {
      return new drrn.TreeWalker(root, show, filter);
    }
    createNodeIterator(root, show, filter) {
      return new drrn.TreeWalker(root, show, filter);
    }
    importNode(node, deep) {
      return this.adoptNode(node.cloneNode(deep));
    }
    adoptNode(node) {
      drrn.detach(node);
      const fragment = new DocumentFragment(this);
      fragment.appendChild(node);
      return fragment.removeChild(node);
    }
    getSelection() {
      return globalThis.getSelection();
    }
    execCommand() {
      return false;
    }
    queryCommandSupported() {
      return false;
    }
    elementFromPoint() {
      return this.body;
    }
    exitFullscreen() {
      return Promise.resolve();
    }
    open() {
      return this;
    }
    close() {}
    /** Text written while the page is parsed is parsed next; later it is appended to the body. */
    write(...texts) {
      const markup = texts.join("");
      const tokens = this.parser && this.parser.tokens;
      if (tokens) {
        tokens.text =
          tokens.text.slice(0, tokens.position) + markup + tokens.text.slice(tokens.position);
      } else if (this.body) this.body.insertAdjacentHTML("beforeend", markup);
    }
    writeln(...texts) {
      this.write(...texts, "\n");
    }
    shallowCopy() {
      return new this.constructor();
    }
  }
  Object.assign(Document.prototype, {
    characterSet: "UTF-8", charset: "UTF-8", contentType: "text/html", hidden: false, visibilityState: "visible",
    referrer: "", domain: "story.invalid", designMode: "off", lastModified: "01/01/2020 00:00:00", dir: "", fullscreenElement: null,
    fullscreenEnabled: false,
    fonts: {
      ready: Promise.resolve(),
      load: () => Promise.resolve([]),
      check: () => true,
      add() {},
      addEventListener() {},
      status: "loaded",
    },
  });
  drrn.mixParent(Document.prototype);
  drrn.defineHandlers(Document.prototype);
  drrn.expose("Document", Document);
  class HTMLDocument extends Document {}
  drrn.expose("HTMLDocument", HTMLDocument);

  const knownTags = new Set(
    ("abbr acronym address article aside b basefont bdi bdo big center cite code dd dfn dt em figcaption figure footer header hgroup i kbd " +
      "main mark nav nobr noembed noframes noscript plaintext rb rp rt rtc ruby s samp search section small strike strong sub summary sup " +
      "tt u var wbr").split(" "));

  function walk(root, test) {
    let node = root.firstChild;
    while (node) {
      if (node.nodeType === 1 && test(node)) return node;
      if (node.firstChild) node = node.firstChild;
      else {
        while (!node.nextSibling) {
          node = node.parentNode;
          if (node === root || node === null) return null;
        }
        node = node.nextSibling;
      }
    }
    return null;
  }

  const implementation = {
    createHTMLDocument(title) {
      const newDocument = new HTMLDocument();
      newDocument.appendChild(new DocumentType(newDocument, "html"));
      const html = newDocument.appendChild(newDocument.createElement("html"));
      html.appendChild(newDocument.createElement("head"));
      html.appendChild(newDocument.createElement("body"));
      if (title !== undefined) newDocument.title = title;
      return newDocument;
    },
    createDocument: () => new Document(),
    createDocumentType: (name) => new DocumentType(globalThis.document, name),
    hasFeature: () => true,
  };

  class DOMParser {
    parseFromString(markup) {
      const newDocument = new HTMLDocument();
      const parser = drrn.documentParser(newDocument, String(markup));
      while (parser.next());
      newDocument.readyState = "complete";
      return newDocument;
    }
  }
  drrn.expose("DOMParser", DOMParser);

  drrn.customNames = new Map();
  drrn.customClasses = new Map();
  const waiting = new Map();
  drrn.expose("customElements", {
    define(name, Class) {
      if (drrn.customNames.has(name)) {
        throw new DOMException(
          `the name "${name}" has already been used with this registry`,
          "NotSupportedError",
        );
      }
      drrn.customNames.set(name, Class);
      drrn.customClasses.set(Class, name);
      drrn.hooks.enabled = true;
      for (const element of globalThis.document.querySelectorAll(name)) {
        drrn.upgrade(element, Class);
        connect(element);
      }
      waiting.get(name)?.forEach((resolve) => resolve(Class));
    },
    get: (name) => drrn.customNames.get(name),
    whenDefined(name) {
      if (drrn.customNames.has(name)) return Promise.resolve(drrn.customNames.get(name));
      return new Promise((resolve) => waiting.set(name, [...(waiting.get(name) ?? []), resolve]));
    },
    upgrade(root) {
      for (const element of [root, ...drrn.descendants(root)]) {
        if (drrn.customNames.has(element.localName)) {
          drrn.upgrade(element, drrn.customNames.get(element.localName));
        }
      }
    },
  });

  function safely(act) {
    try {
      act();
    } catch (error) {
      drrn.report(error);
    }
  }
  function connect(element) {
    if (element.connectedCallback) safely(() => element.connectedCallback());
  }
  const JAVASCRIPT =
    /^(?:|text\/javascript|application\/(?:x-)?javascript|text\/ecmascript|module)$/i;
  drrn.isJavaScript = (script) =>
    JAVASCRIPT.test(script.getAttribute("type")?.trim() ?? "");

  drrn.hooks.onInsert = function (root) {
    if (root.nodeType !== 1 || root.getRootNode() !== globalThis.document) return;
    for (const element of [root, ...drrn.descendants(root)]) {
      const custom = drrn.customNames.get(element.localName);
      if (custom) {
        drrn.upgrade(element, custom);
        connect(element);
      } else if (element.mayRun) {
        element.mayRun = false;
        if (element.hasAttribute("src")) {
          drrn.clock.later(0, () => element.dispatchEvent(new Event("error")));
        } else if (drrn.isJavaScript(element)) runInserted(element);
      }
    }
  };
  function runInserted(script) {
    const before = globalThis.document.currentScript;
    globalThis.document.currentScript = script;
    drrn.runScript(script.textContent);
    globalThis.document.currentScript = before;
  }
  drrn.hooks.onRemove = function (root) {
    if (root.nodeType !== 1 || !drrn.customNames.size) return;
    for (const element of [root, ...drrn.descendants(root)]) {
      if (element.disconnectedCallback) safely(() => element.disconnectedCallback());
    }
  };

  drrn.expose("document", new HTMLDocument());
})(globalThis.__drrn);
