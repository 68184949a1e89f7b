// Elements: attributes, classes, markup, and the sizes that are known without layout.
(function (drrn) {
  "use strict";
  const tree = drrn.tree;
  const HTML = "http://www.w3.org/1999/xhtml";
  const none = new Map();

  class Element extends Node {
    constructor(ownerDocument, localName, namespace) {
      super(ownerDocument);
      this.localName = localName;
      this.namespaceURI = namespace;
      // Shared while it is empty: most elements have no attributes, and a Map is expensive.
      this.attributeMap = none;
      this.classWords = null;
      this.styleDeclaration = null;
      this.computedStyle = null;
      this.cachedVersion = -1; // tree version of the cached display and visibility
      this.cachedDisplay = "";
      this.cachedVisibility = "";
      this.upperName = namespace === HTML ? localName.toUpperCase() : localName;
    }
    get nodeType() {
      return 1;
    }
    get nodeName() {
      return this.upperName;
    }
    get tagName() {
      return this.upperName;
    }
    get prefix() {
      return null;
    }
    get id() {
      return this.attributeMap.get("id") ?? "";
    }
    set id(value) {
      this.setAttribute("id", value);
    }
    get className() {
      return this.attributeMap.get("class") ?? "";
    }
    set className(value) {
      this.setAttribute("class", value);
    }
    get slot() {
      return this.getAttribute("slot") ?? "";
    }
    get classList() {
      const list = new DOMTokenList(this, "class");
      Object.defineProperty(this, "classList", {
        get: () => list,
        set: (value) => (this.className = value),
        configurable: true,
      });
      return list;
    }
    set classList(value) {
      this.className = value;
    }
    /** Whether the element has a class; selectors test this for every element they visit. */
    hasClass(name) {
      const text = this.attributeMap.get("class");
      if (text === undefined || text === "") return false;
      if (text === name) return true;
      if (text.length <= name.length) return false;
      return (this.classWords ??= drrn.words(text)).includes(name);
    }

    getAttribute(name) {
      return this.attributeMap.get(this.attributeName(name)) ?? null;
    }
    attributeName(name) {
      const text = String(name);
      return this.namespaceURI === HTML ? text.toLowerCase() : text;
    }
    setAttribute(name, value) {
      const key = this.attributeName(name);
      if (key === "" || /[\s"'>/=]/.test(key)) {
        throw new DOMException(`'${key}' is not a valid attribute name.`, "InvalidCharacterError");
      }
      this.putAttribute(key, String(value));
    }
    putAttribute(key, value) {
      if (this.attributeMap === none) this.attributeMap = new Map();
      const old = this.attributeMap.get(key);
      this.attributeMap.set(key, value);
      this.applyAttribute(key, old ?? null, value);
    }
    removeAttribute(name) {
      const key = this.attributeName(name);
      const old = this.attributeMap.get(key);
      if (old === undefined) return;
      this.attributeMap.delete(key);
      this.applyAttribute(key, old, null);
    }
    hasAttribute(name) {
      return this.attributeMap.has(this.attributeName(name));
    }
    hasAttributes() {
      return this.attributeMap.size > 0;
    }
    toggleAttribute(name, force) {
      const present = force === undefined ? !this.hasAttribute(name) : !!force;
      if (!present) this.removeAttribute(name);
      else if (!this.hasAttribute(name)) this.setAttribute(name, "");
      return present;
    }
    getAttributeNames() {
      return [...this.attributeMap.keys()];
    }
    get attributes() {
      return drrn.attributesOf(this);
    }
    getAttributeNode(name) {
      return this.hasAttribute(name) ? new Attr(this, this.attributeName(name)) : null;
    }
    setAttributeNode(attribute) {
      const value = attribute.value;
      attribute.ownerElement = this;
      this.setAttribute(attribute.name, value ?? "");
      return null;
    }
    getAttributeNS(_, name) {
      return this.getAttribute(name);
    }
    setAttributeNS(_, name, value) {
      this.setAttribute(name, value);
    }
    removeAttributeNS(_, name) {
      this.removeAttribute(name);
    }
    hasAttributeNS(_, name) {
      return this.hasAttribute(name);
    }
    /** Effects of an attribute: classes, inline style, handlers, custom elements, observers. */
    applyAttribute(key, old, value) {
      tree.version++;
      if (key === "class") this.classWords = null;
      else if (key === "style") {
        if (this.styleDeclaration) this.styleDeclaration.attributeChanged(value ?? "");
      } else if (
        key.charCodeAt(0) === 111 &&
        key.charCodeAt(1) === 110 &&
        drrn.handlerNames.includes(key.slice(2))
      ) {
        this.handlerMap ??= {};
        this.handlerMap[key.slice(2)] = value;
      }
      if (this.attributeChangedCallback && drrn.observes(this, key)) {
        this.attributeChangedCallback(key, old, value, null);
      }
      if (drrn.hooks.hasObservers) drrn.hooks.attribute(this, key, old);
    }

    get innerHTML() {
      return drrn.serialise(this, false);
    }
    set innerHTML(markup) {
      const text = markup === null ? "" : String(markup);
      if (text === "") return void drrn.replaceChildren(this, null);
      if (
        text.indexOf("<") < 0 &&
        text.indexOf("&") < 0 &&
        text.indexOf("\r") < 0 &&
        !drrn.rawText.has(this.localName)
      ) {
        return void drrn.replaceChildren(this, this.ownerDocument.createTextNode(text));
      }
      drrn.replaceChildren(this, drrn.parseFragment(text, this));
    }
    get outerHTML() {
      return drrn.serialise(this, true);
    }
    set outerHTML(markup) {
      const parent = this.parentNode;
      if (parent) parent.replaceChild(drrn.parseFragment(String(markup), parent), this);
    }
    getHTML() {
      return this.innerHTML;
    }
    setHTMLUnsafe(markup) {
      this.innerHTML = markup;
    }
    insertAdjacentHTML(where, markup) {
      const position = String(where).toLowerCase();
      const around = position === "beforebegin" || position === "afterend";
      this.insertAdjacent(
        position,
        drrn.parseFragment(String(markup), around ? this.parentNode : this),
      );
    }
    insertAdjacentElement(where, element) {
      return this.insertAdjacent(String(where).toLowerCase(), element);
    }
    insertAdjacentText(where, text) {
      this.insertAdjacent(String(where).toLowerCase(), this.ownerDocument.createTextNode(text));
    }
    insertAdjacent(position, node) {
      if (position === "beforebegin") {
        return this.parentNode ? drrn.insert(this.parentNode, node, this) : null;
      }
      if (position === "afterbegin") return drrn.insert(this, node, this.firstChild);
      if (position === "beforeend") return drrn.insert(this, node, null);
      if (position === "afterend") {
        return this.parentNode ? drrn.insert(this.parentNode, node, this.nextSibling) : null;
      }
      throw new DOMException(
        `The value provided ('${position}') is not one of 'beforeBegin', 'afterBegin', 'beforeEnd', or 'afterEnd'.`,
        "SyntaxError",
      );
    }
    matches(selector) {
      return drrn.compileSelector(String(selector)).matches(this, this);
    }
    webkitMatchesSelector(selector) {
      return this.matches(selector);
    }
    closest(selector) {
      const matcher = drrn.compileSelector(String(selector));
      for (let node = this; node && node.nodeType === 1; node = node.parentNode) {
        if (matcher.matches(node, this)) return node;
      }
      return null;
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
    shallowCopy() {
      const copy = this.ownerDocument.elementNamed(this.localName, this.namespaceURI);
      if (this.attributeMap.size) {
        if (drrn.customNames.has(this.localName)) {
          for (const [key, value] of this.attributeMap) copy.putAttribute(key, value);
        } else {
          copy.attributeMap = new Map(this.attributeMap);
          if (this.handlerMap) {
            for (const [key, value] of this.attributeMap) {
              if (key.startsWith("on")) copy.applyAttribute(key, null, value);
            }
          }
        }
      }
      return copy;
    }

    get rendered() {
      return drrn.rendered(this);
    }
    getBoundingClientRect() {
      const isRendered = this.rendered;
      return new DOMRect(
        0,
        0,
        isRendered ? this.offsetWidth : 0,
        isRendered ? this.offsetHeight : 0,
      );
    }
    getClientRects() {
      return this.rendered ? [this.getBoundingClientRect()] : [];
    }
    get clientTop() {
      return 0;
    }
    get clientLeft() {
      return 0;
    }
    get clientWidth() {
      return this.offsetWidth;
    }
    get clientHeight() {
      return this.offsetHeight;
    }
    get offsetWidth() {
      return this.rendered ? 1280 : 0;
    }
    get offsetHeight() {
      if (!this.rendered) return 0;
      return this.localName === "html" || this.localName === "body" ? 800 : 20;
    }
    get scrollWidth() {
      return this.offsetWidth;
    }
    get scrollHeight() {
      return this.offsetHeight;
    }
    get shadowRoot() {
      return null;
    }
    scroll() {}
    scrollTo() {}
    scrollBy() {}
    scrollIntoView() {}
    scrollIntoViewIfNeeded() {}
    setPointerCapture() {}
    releasePointerCapture() {}
    requestFullscreen() {
      return Promise.reject(new TypeError("fullscreen error"));
    }
    /** Web animations: they end at once. */
    animate() {
      return drrn.animation(this);
    }
    getAnimations() {
      return [];
    }
    checkVisibility() {
      return this.rendered;
    }
  }
  Object.defineProperty(Element.prototype, "scrollTop", { writable: true, value: 0 });
  Object.defineProperty(Element.prototype, "scrollLeft", { writable: true, value: 0 });
  drrn.mixParent(Element.prototype);
  drrn.mixChild(Element.prototype);
  drrn.expose("Element", Element);

  class DOMRect {
    constructor(x = 0, y = 0, width = 0, height = 0) {
      Object.assign(this, {
        x,
        y,
        width,
        height,
        left: x,
        top: y,
        right: x + width,
        bottom: y + height,
      });
    }
  }
  drrn.expose("DOMRect", DOMRect);
})(globalThis.__drrn);
