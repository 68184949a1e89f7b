// Inline styles: the declarations of an element, by property in both spellings.
(function (drrn) {
  "use strict";

  const sides = ["top", "right", "bottom", "left"];
  const knownProperties = new Set(
    ("align-content align-items align-self all animation animation-delay animation-direction animation-duration animation-fill-mode " +
      "animation-iteration-count animation-name animation-play-state animation-timing-function appearance aspect-ratio backdrop-filter " +
      "backface-visibility background background-attachment background-blend-mode background-clip background-color background-image " +
      "background-origin background-position background-position-x background-position-y background-repeat background-size block-size " +
      "border border-collapse border-color border-image border-image-outset border-image-repeat border-image-slice border-image-source " +
      "border-image-width border-radius border-spacing border-style border-width border-top-left-radius border-top-right-radius " +
      "border-bottom-left-radius border-bottom-right-radius bottom box-shadow box-sizing break-after break-before break-inside caption-side " +
      "caret-color clear clip clip-path color color-scheme column-count column-fill column-gap column-rule column-span column-width columns " +
      "contain content counter-increment counter-reset cursor direction display empty-cells fill fill-opacity filter flex flex-basis " +
      "flex-direction flex-flow flex-grow flex-shrink flex-wrap float font font-family font-feature-settings font-kerning font-size " +
      "font-stretch font-style font-variant font-variant-caps font-weight gap grid grid-area grid-auto-columns grid-auto-flow " +
      "grid-auto-rows grid-column grid-column-end grid-column-gap grid-column-start grid-gap grid-row grid-row-end grid-row-gap " +
      "grid-row-start grid-template grid-template-areas grid-template-columns grid-template-rows height hyphens image-rendering inset " +
      "isolation justify-content justify-items justify-self left letter-spacing line-height list-style list-style-image " +
      "list-style-position list-style-type margin mask mask-image max-height max-width min-height min-width mix-blend-mode object-fit " +
      "object-position opacity order orphans outline outline-color outline-offset outline-style outline-width overflow overflow-anchor " +
      "overflow-wrap overflow-x overflow-y padding page-break-after page-break-before page-break-inside perspective perspective-origin " +
      "place-content place-items place-self pointer-events position quotes resize right rotate row-gap scale scroll-behavior " +
      "stroke stroke-width tab-size table-layout text-align text-align-last text-decoration text-decoration-color text-decoration-line " +
      "text-decoration-style text-emphasis text-indent text-overflow text-rendering text-shadow text-stroke text-transform " +
      "text-underline-offset text-underline-position top touch-action transform transform-origin transform-style transition " +
      "transition-delay transition-duration transition-property transition-timing-function translate unicode-bidi user-select " +
      "vertical-align visibility white-space widows width will-change word-break word-spacing word-wrap writing-mode z-index zoom " +
      "-webkit-transform -webkit-animation -webkit-transition -webkit-user-select -webkit-filter -webkit-text-stroke -webkit-appearance " +
      "-webkit-box-shadow -webkit-background-clip -webkit-text-fill-color -webkit-mask-image -webkit-tap-highlight-color"
    ).split(" "));
  for (const side of sides) {
    for (const what of [`margin-${side}`, `padding-${side}`, `border-${side}`]) {
      knownProperties.add(what);
    }
    for (const what of ["color", "style", "width"]) knownProperties.add(`border-${side}-${what}`);
  }
  drrn.knownProperties = knownProperties;


  const DECLARATION =
    /(?:[^;"'(]|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()"']|"[^"]*"|'[^']*'|\([^()]*\))*\)|["'(])+/g;

  /** "a: b; c: d !important" as [property, value, important]; respects strings and parentheses. */
  drrn.declarations = function (text) {
    const list = [];
    const plain = text.indexOf("/*") < 0 ? text : text.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, "");
    for (const piece of plain.match(DECLARATION) || []) {
      const colon = piece.indexOf(":");
      if (colon < 0) continue;
      const name = piece.slice(0, colon).trim();
      const value = piece.slice(colon + 1).trim();
      const important = /\s*!\s*important$/i.exec(value);
      const property = name.startsWith("--") ? name : name.toLowerCase();
      if (property === "") continue;
      const bareValue = important ? value.slice(0, important.index) : value;
      if (valid(property, bareValue)) list.push([property, bareValue, !!important]);
    }
    return list;
  };

  const displays =
    /^(?:none|contents|block|inline|flow-root|inline-block|run-in|list-item|flex|inline-flex|grid|inline-grid|table|inline-table|table-[a-z-]+|ruby(?:-[a-z-]+)?|-webkit-(?:inline-)?box|-webkit-(?:inline-)?flex|math|inherit|initial|unset|revert|revert-layer|var\(.*\)|(?:block|inline|list-item|flow|flow-root)(?: (?:flow|flow-root|flex|grid|table|list-item|block|inline))+)$/i;
  /** Values that a browser refuses are dropped; only properties that can hide text are checked. */
  function valid(property, value) {
    if (value === "") return property.startsWith("--");
    if (property === "display") return displays.test(value);
    if (property === "visibility") {
      return /^(?:visible|hidden|collapse|inherit|initial|unset|revert|var\(.*\))$/i.test(value);
    }
    if (property === "opacity") {
      return /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?%?|[a-z-]+(?:\(.*\))?)$/i.test(value);
    }
    return true;
  }

  const none = new Map();
  // Symbols, so that scripts that enumerate a style do not see them.
  const owner = Symbol("owner");
  const values = Symbol("values");
  const writing = Symbol("writing");
  drrn.styleValues = values;

  class CSSStyleDeclaration {
    constructor(element) {
      this[owner] = element;
      this[values] = element ? new Map() : none; // property → [value, important]
      this[writing] = false;
    }
    /** Read the changed attribute, unless the change came from here. */
    attributeChanged(text) {
      if (!this[writing]) this.read(text);
    }
    read(text) {
      this[values].clear();
      for (const [property, value, important] of drrn.declarations(text)) {
        this[values].set(property, [value, important]);
      }
    }
    write() {
      if (!this[owner]) return;
      this[writing] = true;
      if (this[values].size) this[owner].putAttribute("style", this.cssText);
      else if (this[owner].attributeMap.has("style")) this[owner].putAttribute("style", "");
      this[writing] = false;
    }
    get cssText() {
      let text = "";
      for (const [property, [value, important]] of this[values]) {
        text += `${text && " "}${property}: ${value}${important ? " !important" : ""};`;
      }
      return text;
    }
    set cssText(text) {
      this.read(String(text));
      this.write();
    }
    get length() {
      return this[values].size;
    }
    get parentRule() {
      return null;
    }
    item(index) {
      return [...this[values].keys()][index] ?? "";
    }
    getPropertyValue(property) {
      const entry = this[values].get(property);
      return entry ? entry[0] : "";
    }
    getPropertyPriority(property) {
      const entry = this[values].get(property);
      return entry && entry[1] ? "important" : "";
    }
    setProperty(property, value, priority = "") {
      const text = value === null || value === undefined ? "" : String(value).trim();
      if (text === "") return void this.removeProperty(property);
      const name = property.startsWith("--") ? property : property.toLowerCase();
      if (!valid(name, text)) return;
      this[values].set(name, [text, priority === "important"]);
      this.write();
    }
    removeProperty(property) {
      const old = this.getPropertyValue(property);
      if (this[values].delete(property)) this.write();
      return old;
    }
    [Symbol.iterator]() {
      return this[values].keys();
    }
  }
  drrn.expose("CSSStyleDeclaration", CSSStyleDeclaration);

  const property = (name) => ({
    configurable: true,
    enumerable: true,
    get() {
      return this.getPropertyValue(name);
    },
    set(value) {
      const text = value === null || value === undefined ? "" : String(value);
      if (/!\s*important\s*$/i.test(text)) return; // a browser refuses a priority here
      this.setProperty(name, text);
    },
  });
  for (const name of knownProperties) {
    const camel = name.replace(/^-webkit-/, "webkit-").replace(/-([a-z])/g, (_, letter) =>
      letter.toUpperCase(),
    );
    Object.defineProperty(CSSStyleDeclaration.prototype, camel, property(name));
    if (camel !== name) Object.defineProperty(CSSStyleDeclaration.prototype, name, property(name));
  }
  Object.defineProperty(CSSStyleDeclaration.prototype, "cssFloat", property("float"));

  drrn.mix(Element.prototype, {
    get style() {
      if (!this.styleDeclaration) {
        this.styleDeclaration = new CSSStyleDeclaration(this);
        const text = this.attributeMap.get("style");
        if (text) this.styleDeclaration.read(text);
      }
      return this.styleDeclaration;
    },
    set style(text) {
      this.style.cssText = text;
    },
  });
})(globalThis.__drrn);
