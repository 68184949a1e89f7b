// Computed styles: display and visibility with a browser's defaults; which elements are rendered.
(function (drrn) {
  "use strict";
  const tree = drrn.tree;
  const set = (text) => new Set(text.split(" "));

  const hidden = set(
    "area base basefont datalist head link meta noembed noframes noscript param rp script source style template title track",
  );
  const block = set(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 " +
      "h3 h4 h5 h6 header hgroup hr html legend listing main menu nav ol optgroup option p plaintext pre search section ul xmp");
  const others = {
    li: "list-item", summary: "list-item", table: "table", tbody: "table-row-group", thead: "table-header-group", tfoot: "table-footer-group", tr: "table-row",
    td: "table-cell", th: "table-cell", caption: "table-caption", col: "table-column", colgroup: "table-column-group",
    button: "inline-block", input: "inline-block", select: "inline-block", textarea: "inline-block", meter: "inline-block",
    progress: "inline-block", ruby: "ruby", rt: "ruby-text",
  };
  const defaults = {
    opacity: "1", position: "static", float: "none", "animation-duration": "0s", "animation-delay": "0s", "animation-name": "none",
    "animation-iteration-count": "1", "transition-duration": "0s", "transition-delay": "0s", "transition-property": "all", overflow: "visible",
    "overflow-x": "visible", "overflow-y": "visible", "z-index": "auto", top: "auto", left: "auto", right: "auto", bottom: "auto",
    "box-sizing": "content-box", "background-color": "rgba(0, 0, 0, 0)", "background-image": "none", transform: "none", content: "normal",
    "max-width": "none", "max-height": "none", "min-width": "0px", "min-height": "0px", "text-decoration": "none",
  };
  const inheritedDefaults = {
    color: "rgb(0, 0, 0)", "font-size": "16px", "font-family": "serif", "font-weight": "400", "font-style": "normal", "line-height": "normal",
    "text-align": "start", "white-space": "normal", cursor: "auto", direction: "ltr", "list-style-type": "disc", "text-transform": "none",
    "letter-spacing": "normal", "pointer-events": "auto",
  };

  // The first word of an animation that is not one of its keywords.
  const ANIMATION_NAME =
    /(?:^|\s)(?!(?:ease|linear|infinite|both|forwards|backwards|alternate|normal|running|paused|none|steps|cubic)\b)[a-z_-][\w-]*/i;

  function defaultDisplay(element) {
    const name = element.localName;
    if (element.attributeMap.has("hidden")) return "none";
    if (hidden.has(name)) return "none";
    if (name === "input" && element.attributeMap.get("type") === "hidden") return "none";
    if (name === "dialog" && !element.attributeMap.has("open")) return "none";
    if (name === "audio" && !element.attributeMap.has("controls")) return "none";
    if (block.has(name)) return "block";
    return Object.hasOwn(others, name) ? others[name] : "inline";
  }

  function computeVisibility(element) {
    const parent = element.parentNode;
    const above = parent && parent.nodeType === 1 ? refresh(parent) : null;
    let display = drrn.cascadedValue(element, "display").toLowerCase() || defaultDisplay(element);
    if (display === "inherit") display = above ? above.cachedDisplay : "block";
    else if (display === "initial" || display === "unset") display = "inline";
    else if (display.startsWith("revert")) display = defaultDisplay(element);
    let visibility = drrn.cascadedValue(element, "visibility").toLowerCase();
    if (visibility === "" || visibility === "inherit" || visibility === "unset") {
      visibility = above ? above.cachedVisibility : "visible";
    } else if (visibility === "initial" || visibility === "revert") visibility = "visible";
    element.cachedDisplay = display;
    element.cachedVisibility = visibility;
    element.cachedVersion = tree.version;
  }
  /** Computes display and visibility once per version of the tree. */
  function refresh(element) {
    if (element.cachedVersion !== tree.version) computeVisibility(element);
    return element;
  }

  /** Whether an element has a box: it is in the document, and display none does not apply. */
  drrn.rendered = function (element) {
    let node = element;
    for (; node && node.nodeType === 1; node = node.parentNode) {
      if (refresh(node).cachedDisplay === "none") return false;
    }
    return node !== null && node.nodeType === 9 && node === globalThis.document;
  };

  const inSeconds = (time) => (/^[\d.]+ms$/.test(time) ? parseFloat(time) / 1000 + "s" : time);
  function times(element, shorthand, which) {
    const text = drrn.cascadedValue(element, shorthand);
    if (!text) return "0s";
    const list = text
      .split(",")
      .map((part) => (part.match(/(?:^|\s)[\d.]+m?s\b/g) || [])[which]?.trim() ?? "0s");
    return list.map(inSeconds).join(", ");
  }

  function computedValue(element, property) {
    if (!element.isConnected) return "";
    if (property === "display") return refresh(element).cachedDisplay;
    if (property === "visibility") return refresh(element).cachedVisibility;
    const own = drrn.cascadedValue(element, property);
    if (
      own === "inherit" ||
      (own === "" && (property in inheritedDefaults || property.startsWith("--")))
    ) {
      const parent = element.parentNode;
      return parent && parent.nodeType === 1
        ? computedValue(parent, property)
        : (inheritedDefaults[property] ?? "");
    }
    if (own !== "") {
      return /-(?:duration|delay)$/.test(property) ? inSeconds(own) : own;
    }
    const match = /^(animation|transition)-(duration|delay)$/.exec(property);
    if (match) return times(element, match[1], match[2] === "duration" ? 0 : 1);
    if (property === "animation-name") {
      const match = drrn.cascadedValue(element, "animation").match(ANIMATION_NAME);
      return match ? match[0].trim() : "none";
    }
    if (property === "width") return drrn.rendered(element) ? element.offsetWidth + "px" : "auto";
    if (property === "height") return drrn.rendered(element) ? element.offsetHeight + "px" : "auto";
    if (/^(?:margin|padding|border)-(?:top|right|bottom|left)(?:-width)?$/.test(property)) {
      return "0px";
    }
    return defaults[property] ?? "";
  }

  const owner = Symbol("element");
  class ComputedStyle extends CSSStyleDeclaration {
    constructor(element) {
      super(null);
      this[owner] = element;
    }
    getPropertyValue(property) {
      return computedValue(this[owner], property);
    }
    setProperty() {
      throw new DOMException(
        "These styles are computed, and therefore read-only.",
        "NoModificationAllowedError",
      );
    }
    // Fast path for the two that are read most often.
    get display() {
      return this[owner].isConnected ? refresh(this[owner]).cachedDisplay : "";
    }
    get visibility() {
      return this[owner].isConnected ? refresh(this[owner]).cachedVisibility : "";
    }
  }

  class PseudoStyle extends CSSStyleDeclaration {
    getPropertyValue(property) {
      return property === "content" ? "none" : "";
    }
  }

  drrn.expose("getComputedStyle", function getComputedStyle(element, pseudo) {
    if (pseudo) return new PseudoStyle(null);
    if (!element || element.nodeType !== 1) {
      throw new TypeError(
        "Failed to execute 'getComputedStyle' on 'Window': parameter 1 is not of type 'Element'.",
      );
    }
    return (element.computedStyle ??= new ComputedStyle(element));
  });

  /** A CSS time in milliseconds: "0.5s", "200ms", the longest of several. */
  drrn.longestTime = (text) =>
    Math.max(
      0,
      ...text
        .split(",")
        .map((time) => (/ms$/.test(time.trim()) ? parseFloat(time) : parseFloat(time) * 1000) || 0),
    );
})(globalThis.__drrn);
