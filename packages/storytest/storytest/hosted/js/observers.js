// Ranges, selections, tree walkers and observers; and innerText.
(function (drrn) {
  "use strict";

  class Range {
    constructor(document = globalThis.document) {
      this.startContainer = this.endContainer = this.commonAncestorContainer = document;
      this.startOffset = this.endOffset = 0;
    }
    get collapsed() {
      return this.startContainer === this.endContainer && this.startOffset === this.endOffset;
    }
    setStart(node, offset) {
      this.startContainer = this.commonAncestorContainer = node;
      this.startOffset = offset;
    }
    setEnd(node, offset) {
      this.endContainer = node;
      this.endOffset = offset;
    }
    setStartBefore(node) {
      this.setStart(node.parentNode, node.parentNode.childNodes.indexOf(node));
    }
    setStartAfter(node) {
      this.setStart(node.parentNode, node.parentNode.childNodes.indexOf(node) + 1);
    }
    setEndBefore(node) {
      this.setEnd(node.parentNode, node.parentNode.childNodes.indexOf(node));
    }
    setEndAfter(node) {
      this.setEnd(node.parentNode, node.parentNode.childNodes.indexOf(node) + 1);
    }
    selectNode(node) {
      this.setStartBefore(node);
      this.setEndAfter(node);
    }
    selectNodeContents(node) {
      this.setStart(node, 0);
      this.setEnd(node, node.childNodes.length);
    }
    collapse(toStart) {
      if (toStart) this.setEnd(this.startContainer, this.startOffset);
      else this.setStart(this.endContainer, this.endOffset);
    }
    createContextualFragment(markup) {
      const node = this.startContainer;
      return drrn.parseFragment(String(markup), node.nodeType === 3 ? node.parentNode : node);
    }
    /** Supports whole children of one parent only; no story format needs more. */
    nodes() {
      return this.startContainer === this.endContainer && this.startContainer.firstChild
        ? this.startContainer.childNodes.slice(this.startOffset, this.endOffset) : [];
    }
    deleteContents() {
      for (const node of this.nodes()) node.remove();
    }
    extractContents() {
      const fragment = globalThis.document.createDocumentFragment();
      for (const node of this.nodes()) fragment.appendChild(node);
      return fragment;
    }
    cloneContents() {
      const fragment = globalThis.document.createDocumentFragment();
      for (const node of this.nodes()) fragment.appendChild(node.cloneNode(true));
      return fragment;
    }
    insertNode(node) {
      this.startContainer.insertBefore(
        node,
        this.startContainer.childNodes[this.startOffset] ?? null,
      );
    }
    cloneRange() {
      return Object.assign(new Range(), this);
    }
    toString() {
      return this.nodes().map((node) => node.textContent).join("");
    }
    getBoundingClientRect() {
      return new DOMRect();
    }
    getClientRects() {
      return [];
    }
    detach() {}
  }
  drrn.expose("Range", Range);

  class Selection {
    constructor() {
      this.rangeCount = 0;
      this.anchorNode = this.focusNode = null;
      this.anchorOffset = this.focusOffset = 0;
      this.isCollapsed = true;
      this.type = "None";
    }
    getRangeAt() {
      return new Range();
    }
    toString() {
      return "";
    }
  }
  for (const name of [
    "addRange", "removeRange", "removeAllRanges", "empty", "collapse", "extend",
    "selectAllChildren", "setBaseAndExtent",
  ]) {
    Selection.prototype[name] = function () {};
  }
  const selection = new Selection();
  drrn.expose("Selection", Selection);
  drrn.expose("getSelection", () => selection);

  /** Walks below a root in document order, over the requested kinds of nodes. */
  drrn.TreeWalker = class TreeWalker {
    constructor(root, whatToShow = 0xffffffff, filter = null) {
      Object.assign(this, { root, whatToShow, filter, currentNode: root });
    }
    accepts(node) {
      if (!((1 << (node.nodeType - 1)) & this.whatToShow)) return 3;
      if (!this.filter) return 1;
      return typeof this.filter === "function" ? this.filter(node) : this.filter.acceptNode(node);
    }
    nextNode() {
      let node = this.currentNode;
      let verdict = 1;
      for (;;) {
        if (node.firstChild && verdict !== 2) node = node.firstChild;
        else {
          while (node && node !== this.root && !node.nextSibling) node = node.parentNode;
          if (!node || node === this.root) return null;
          node = node.nextSibling;
        }
        verdict = this.accepts(node);
        if (verdict === 1) return (this.currentNode = node);
      }
    }
    parentNode() {
      for (let node = this.currentNode; node && node !== this.root; ) {
        node = node.parentNode;
        if (node && this.accepts(node) === 1) return (this.currentNode = node);
      }
      return null;
    }
    firstChild() {
      for (let node = this.currentNode.firstChild; node; node = node.nextSibling) {
        if (this.accepts(node) === 1) return (this.currentNode = node);
      }
      return null;
    }
    nextSibling() {
      for (let node = this.currentNode.nextSibling; node; node = node.nextSibling) {
        if (this.accepts(node) === 1) return (this.currentNode = node);
      }
      return null;
    }
  };
  drrn.expose("TreeWalker", drrn.TreeWalker);
  drrn.expose("NodeFilter", {
    SHOW_ALL: 0xffffffff, SHOW_ELEMENT: 1, SHOW_TEXT: 4, SHOW_COMMENT: 128, FILTER_ACCEPT: 1,
    FILTER_REJECT: 2, FILTER_SKIP: 3,
  });

  const registrations = []; // {observer, target, options}
  class MutationObserver {
    constructor(callback) {
      this.callback = callback;
      this.records = [];
    }
    observe(target, options) {
      registrations.push({ observer: this, target, options: { ...options } });
      drrn.hooks.hasObservers = true;
    }
    disconnect() {
      for (let i = registrations.length - 1; i >= 0; i--) {
        if (registrations[i].observer === this) registrations.splice(i, 1);
      }
      drrn.hooks.hasObservers = registrations.length > 0;
      this.records = [];
    }
    takeRecords() {
      return this.records.splice(0);
    }
  }
  drrn.expose("MutationObserver", MutationObserver);

  function notify(kind, target, record) {
    const notified = new Set();
    for (const { observer, target: root, options } of registrations) {
      const applies =
        options[kind] ||
        (kind === "attributes" && (options.attributeFilter || options.attributeOldValue));
      if (
        !applies ||
        notified.has(observer) ||
        !(root === target || (options.subtree && root.contains(target)))
      ) {
        continue;
      }
      if (
        kind === "attributes" &&
        options.attributeFilter &&
        !options.attributeFilter.includes(record.attributeName)
      ) {
        continue;
      }
      notified.add(observer);
      if (!observer.records.length) Promise.resolve().then(() => deliver(observer));
      observer.records.push({
        type: kind,
        target,
        addedNodes: [],
        removedNodes: [],
        previousSibling: null,
        nextSibling: null,
        attributeName: null,
        oldValue: null,
        ...record,
      });
    }
  }
  function deliver(observer) {
    const records = observer.takeRecords();
    if (!records.length) return;
    try {
      observer.callback(records, observer);
    } catch (error) {
      drrn.report(error);
    }
  }
  drrn.hooks.childList = (parent, addedNodes, removedNodes, previousSibling, nextSibling) =>
    notify("childList", parent, {
      addedNodes: drrn.nodeList(addedNodes),
      removedNodes: drrn.nodeList(removedNodes),
      previousSibling,
      nextSibling,
    });
  drrn.hooks.attribute = (element, attributeName, oldValue) =>
    notify("attributes", element, { attributeName, oldValue });
  drrn.hooks.characterData = (node, oldValue) => notify("characterData", node, { oldValue });

  /** Layout observers; there is no layout, so each element is reported once, as fully visible. */
  for (const name of ["IntersectionObserver", "ResizeObserver", "PerformanceObserver"]) {
    drrn.expose(name, class {
      constructor(callback) {
        this.callback = callback;
      }
      observe(target) {
        if (name !== "IntersectionObserver") return;
        drrn.clock.later(0, () =>
          this.callback(
            [{
              target,
              isIntersecting: true,
              intersectionRatio: 1,
              boundingClientRect: new DOMRect(),
            }],
            this,
          ),
        );
      }
      unobserve() {}
      disconnect() {}
      takeRecords() {
        return [];
      }
    });
  }

  const breaks = /^(?:block|flex|grid|list-item|table|table-row|table-caption)$/;
  /** The visible text of an element, with a line per block. */
  drrn.innerText = function (element) {
    if (!element.rendered) return element.textContent;
    const parts = [];
    const visit = (node) => {
      for (let child = node.firstChild; child; child = child.nextSibling) {
        if (child.nodeType === 3) parts.push(child.data.replace(/[ \t\n\f\r]+/g, " "));
        else if (child.nodeType === 1 && child.localName === "br") parts.push("\n");
        else if (child.nodeType === 1) {
          const { display, visibility } = getComputedStyle(child);
          if (display === "none" || visibility === "hidden") continue;
          const edge = child.localName === "p" ? "\u0002" : breaks.test(display) ? "\u0001" : "";
          parts.push(edge);
          visit(child);
          parts.push(edge);
        }
      }
    };
    visit(element);
    return parts
      .join("")
      .replace(/ *([\n\u0001\u0002]+) */g, "$1")
      .replace(/^[\u0001\u0002]+|[\u0001\u0002]+$/g, "")
      .replace(/[\u0001\u0002]+/g, (run) => (run.includes("\u0002") ? "\n\n" : "\n"))
      .replace(/ {2,}/g, " ")
      .trim();
  };
})(globalThis.__drrn);
