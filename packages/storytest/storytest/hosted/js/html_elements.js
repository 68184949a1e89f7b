// HTML elements: a class per kind, and properties that mirror attributes.
(function (drrn) {
  "use strict";
  const HTML = "http://www.w3.org/1999/xhtml";
  let upgrading = null; // the element that a custom element's constructor will run on

  class HTMLElement extends Element {
    constructor(ownerDocument, localName) {
      if (upgrading && localName === undefined) {
        const element = upgrading;
        upgrading = null;
        return element;
      }
      const name = localName ?? drrn.customClasses.get(new.target);
      if (name === undefined) throw new TypeError("Illegal constructor");
      super(ownerDocument ?? globalThis.document, name, HTML);
    }
    get innerText() {
      return drrn.innerText(this);
    }
    set innerText(value) {
      drrn.replaceChildren(this, null);
      String(value).split(/\r\n?|\n/).forEach((line, index) => {
        if (index) this.appendChild(this.ownerDocument.createElement("br"));
        if (line !== "") this.appendChild(this.ownerDocument.createTextNode(line));
      });
    }
    get outerText() {
      return this.innerText;
    }
    get dataset() {
      const data = drrn.dataset(this);
      Object.defineProperty(this, "dataset", { value: data, configurable: true });
      return data;
    }
    get tabIndex() {
      const text = this.getAttribute("tabindex");
      if (text !== null && Number.isInteger(Number(text))) return Number(text);
      return /^(?:a|button|input|select|textarea|summary|iframe)$/.test(this.localName) &&
        (this.localName !== "a" || this.hasAttribute("href"))
        ? 0
        : -1;
    }
    set tabIndex(value) {
      this.setAttribute("tabindex", value);
    }
    get isContentEditable() {
      return /^(?:|true|plaintext-only)$/.test(this.getAttribute("contenteditable") ?? "false");
    }
    get contentEditable() {
      return this.getAttribute("contenteditable") ?? "inherit";
    }
    set contentEditable(value) {
      this.setAttribute("contenteditable", value);
    }
    get offsetParent() {
      return this.rendered && this.localName !== "body" ? globalThis.document.body : null;
    }
    get offsetTop() {
      return 0;
    }
    get offsetLeft() {
      return 0;
    }
    focus() {
      drrn.focus(this);
    }
    blur() {
      drrn.focus(null, this);
    }
    click() {
      if (drrn.disabled(this) && this.localName !== "fieldset") return;
      this.dispatchEvent(
        new PointerEvent("click", {
          bubbles: true,
          cancelable: true,
          composed: true,
          view: globalThis,
          detail: 1,
          pointerId: -1,
        }),
      );
    }
    /** Perform the default action of a click, unless a listener prevents it. */
    dispatchEvent(event) {
      if (event.type !== "click") return drrn.dispatch(this, event);
      return drrn.clickWithActivation(this, event);
    }
    attachInternals() {
      return {};
    }
    showPopover() {}
    hidePopover() {}
  }
  drrn.expose("HTMLElement", HTMLElement);
  drrn.defineHandlers(HTMLElement.prototype);

  /** Properties that mirror attributes, as text, Boolean or number. */
  drrn.mirror = function (prototype, names, kind = "text", fallback = 0) {
    for (const entry of names.split(" ")) {
      const [property, attribute = property.toLowerCase()] = entry.split("=");
      Object.defineProperty(prototype, property, {
        configurable: true,
        enumerable: true,
        get() {
          if (kind === "flag") return this.attributeMap.has(attribute);
          const text = this.attributeMap.get(attribute) ?? "";
          if (kind === "number") {
            return text === "" || isNaN(parseInt(text, 10)) ? fallback : parseInt(text, 10);
          }
          return kind === "address" && text !== "" ? drrn.resolve(text) : text;
        },
        set(value) {
          if (kind !== "flag") this.setAttribute(attribute, value);
          else if (value) this.setAttribute(attribute, "");
          else this.removeAttribute(attribute);
        },
      });
    }
  };
  drrn.mirror(HTMLElement.prototype, "title lang dir accessKey role");
  drrn.mirror(HTMLElement.prototype, "hidden inert autofocus", "flag");
  drrn.mirror(
    Element.prototype,
    "ariaLabel=aria-label ariaHidden=aria-hidden ariaLive=aria-live ariaExpanded=aria-expanded",
  );
  Object.assign(HTMLElement.prototype, { draggable: false, spellcheck: true, translate: true });

  const classes = (drrn.elementClasses = new Map()); // tag → class
  /** Creates a class for some tags, with more members, and exposes it on the window. */
  drrn.elementClass = function (name, tags, members = {}, parent = HTMLElement) {
    const Class = { [name]: class extends parent {} }[name];
    drrn.mix(Class.prototype, members);
    drrn.expose(name, Class);
    for (const tag of tags.split(" ")) if (tag) classes.set(tag, Class);
    return Class;
  };
  const make = drrn.elementClass;
  const plain = {
    Div: "div", Span: "span", Paragraph: "p", Heading: "h1 h2 h3 h4 h5 h6", UList: "ul", OList: "ol", LI: "li", DList: "dl", BR: "br",
    HR: "hr", Pre: "pre listing xmp", Quote: "q blockquote", Body: "body", Head: "head", Html: "html", Title: "title", Meta: "meta",
    Base: "base", Mod: "ins del", Map: "map", Area: "area", Embed: "embed", Object: "object", Param: "param", Picture: "picture",
    Time: "time", Data: "data", Menu: "menu", Slot: "slot", TableCaption: "caption", TableCol: "col colgroup", Font: "font",
    Legend: "legend", DataList: "datalist", Directory: "dir", Marquee: "marquee", Unknown: "",
  };
  for (const [name, tags] of Object.entries(plain)) make(`HTML${name}Element`, tags);
  drrn.mirror(HTMLMetaElement.prototype, "name content httpEquiv=http-equiv");
  drrn.mirror(HTMLBaseElement.prototype, "href target");
  Object.defineProperty(HTMLTitleElement.prototype, "text", {
    get() { return this.textContent; },
    set(value) { this.textContent = value; },
  });

  make("HTMLAnchorElement", "a", {
    toString() {
      return this.href;
    },
    get text() {
      return this.textContent;
    },
    set text(value) {
      this.textContent = value;
    },
  });
  drrn.mirror(HTMLAnchorElement.prototype, "target rel download name type hreflang");
  drrn.mirror(HTMLAnchorElement.prototype, "href", "address");
  for (const part of [
    "protocol", "host", "hostname", "port", "pathname", "search", "hash", "origin",
  ]) {
    Object.defineProperty(HTMLAnchorElement.prototype, part, {
      configurable: true,
      get() {
        return this.hasAttribute("href") ? new URL(this.href)[part] : "";
      },
    });
  }

  make("HTMLTemplateElement", "template", {
    get content() {
      return (this.fragment ??= new DocumentFragment(this.ownerDocument));
    },
    get innerHTML() {
      return drrn.serialise(this, false);
    },
    set innerHTML(markup) {
      drrn.replaceChildren(this.content, drrn.parseFragment(String(markup), this.ownerDocument));
    },
    cloneNode(deep) {
      const copy = Node.prototype.cloneNode.call(this, deep);
      if (deep) {
        for (let child = this.content.firstChild; child; child = child.nextSibling) {
          copy.content.appendChild(child.cloneNode(true));
        }
      }
      return copy;
    },
  });
  make("HTMLScriptElement", "script", {
    get text() {
      return this.textContent;
    },
    set text(value) {
      this.textContent = value;
    },
  });
  drrn.mirror(HTMLScriptElement.prototype, "type charset crossOrigin integrity event nonce");
  drrn.mirror(HTMLScriptElement.prototype, "async defer noModule", "flag");
  drrn.mirror(HTMLScriptElement.prototype, "src", "address");

  /** The sheet of a style element; rules inserted by scripts follow the element's own. */
  const sheet = (element) => ({
    ownerNode: element,
    cssRules: [],
    get rules() {
      return this.cssRules;
    },
    insertRule(rule, index = 0) {
      this.cssRules.splice(index, 0, { cssText: rule, selectorText: rule.split("{")[0].trim() });
      element.insertedRules = this.cssRules.map((each) => each.cssText).join("\n");
      drrn.tree.version++;
      return index;
    },
    deleteRule(index) {
      this.cssRules.splice(index, 1);
      element.insertedRules = this.cssRules.map((each) => each.cssText).join("\n");
      drrn.tree.version++;
    },
    get disabled() {
      return !!element.disabled;
    },
    set disabled(value) {
      element.disabled = value;
    },
  });
  make("HTMLStyleElement", "style", {
    get sheet() {
      return (this.ownSheet ??= sheet(this));
    },
    get styleSheet() {
      return undefined;
    },
  });
  drrn.mirror(HTMLStyleElement.prototype, "type media");
  make("HTMLLinkElement", "link", { get sheet() { return null; } });
  drrn.mirror(HTMLLinkElement.prototype, "rel type media as");
  drrn.mirror(HTMLLinkElement.prototype, "href", "address");
  make("HTMLDetailsElement", "details");
  drrn.mirror(HTMLDetailsElement.prototype, "open", "flag");
  const dialog = make("HTMLDialogElement", "dialog", {
    show() {
      this.setAttribute("open", "");
    },
    showModal() {
      this.isModal = true;
      this.setAttribute("open", "");
    },
    close(value) {
      if (!this.hasAttribute("open")) return;
      this.isModal = false;
      if (value !== undefined) this.returnValue = String(value);
      this.removeAttribute("open");
      drrn.clock.later(0, () => this.dispatchEvent(new Event("close")));
    },
  });
  dialog.prototype.returnValue = "";
  drrn.mirror(dialog.prototype, "open", "flag");

  const rowsOf = (section) => section.children;
  make("HTMLTableElement", "table", {
    get rows() {
      return drrn.collection(this, (table) =>
        [...table.querySelectorAll("tr")].filter((row) => row.closest("table") === table),
      );
    },
    get tBodies() {
      return drrn.collection(this, (table) =>
        table.childNodes.filter((child) => child.localName === "tbody"),
      );
    },
    get tHead() {
      return this.childNodes.find((child) => child.localName === "thead") ?? null;
    },
    insertRow(index = -1) {
      let body = this.childNodes.findLast((child) => child.localName === "tbody");
      if (!body) body = this.appendChild(this.ownerDocument.createElement("tbody"));
      return body.insertBefore(
        this.ownerDocument.createElement("tr"),
        index < 0 ? null : (rowsOf(body)[index] ?? null),
      );
    },
  });
  make("HTMLTableSectionElement", "tbody thead tfoot", { get rows() { return rowsOf(this); } });
  make("HTMLTableRowElement", "tr", {
    get cells() {
      return this.children;
    },
    get rowIndex() {
      return [...(this.closest("table")?.rows ?? [])].indexOf(this);
    },
    insertCell(index = -1) {
      return this.insertBefore(
        this.ownerDocument.createElement("td"),
        index < 0 ? null : (this.children[index] ?? null),
      );
    },
  });
  make("HTMLTableCellElement", "td th");
  drrn.mirror(HTMLTableCellElement.prototype, "colSpan rowSpan", "number", 1);
  const svg = make("SVGElement", "", {}, Element);
  drrn.defineHandlers(svg.prototype);
  drrn.mix(svg.prototype, { focus() {}, blur() {}, get ownerSVGElement() { return null; } });
  make("SVGSVGElement", "", {}, svg);

  /** Runs a custom element's constructor on an element that existed before its class. */
  drrn.upgrade = function (element, Class) {
    if (element instanceof Class) return;
    Object.setPrototypeOf(element, Class.prototype);
    upgrading = element;
    try {
      new Class();
    } catch (error) {
      drrn.report(error);
    }
    upgrading = null;
    if (element.attributeChangedCallback) {
      for (const [key, value] of element.attributeMap) {
        if (drrn.observes(element, key)) element.attributeChangedCallback(key, null, value, null);
      }
    }
  };
  const observedAttributes = new Map();
  drrn.observes = (element, key) => {
    if (!observedAttributes.has(element.constructor)) {
      observedAttributes.set(
        element.constructor,
        new Set(element.constructor.observedAttributes ?? []),
      );
    }
    return observedAttributes.get(element.constructor).has(key);
  };
})(globalThis.__drrn);
