// Nodes: the tree itself, as linked siblings, with text, comments and fragments.
(function (drrn) {
  "use strict";

  // Counts changes, so that results can be cached until the next one.
  const tree = (drrn.tree = { version: 0 });

  class DOMException extends Error {
    constructor(message, name) {
      super(message);
      Object.defineProperty(this, "name", { value: name || "Error", configurable: true });
    }
  }
  drrn.expose("DOMException", DOMException);

  /** A list of nodes, stored as an array: fast to index, and live if its owner updates it. */
  class NodeList extends Array {
    static get [Symbol.species]() {
      return Array;
    }
    item(index) {
      return this[index] ?? null;
    }
  }
  Object.defineProperty(NodeList.prototype, Symbol.isConcatSpreadable, { value: false });
  drrn.expose("NodeList", NodeList);
  drrn.nodeList = (nodes) => {
    const list = new NodeList();
    for (let i = 0; i < nodes.length; i++) list[i] = nodes[i];
    return list;
  };

  class Node extends EventTarget {
    constructor(ownerDocument) {
      super();
      this.ownerDocument = ownerDocument;
      this.parentNode = null;
      this.firstChild = null;
      this.lastChild = null;
      this.previousSibling = null;
      this.nextSibling = null;
      this.childList = null; // the live list, once it was requested
    }
    get parentElement() {
      const parent = this.parentNode;
      return parent && parent.nodeType === 1 ? parent : null;
    }
    get childNodes() {
      if (this.childList) return this.childList;
      const list = new NodeList();
      for (let child = this.firstChild; child; child = child.nextSibling) list.push(child);
      return (this.childList = list);
    }
    get isConnected() {
      let node = this;
      while (node.parentNode) node = node.parentNode;
      return node.nodeType === 9;
    }
    get nodeValue() {
      return null;
    }
    set nodeValue(value) {}
    get textContent() {
      return textOf(this);
    }
    set textContent(value) {
      replaceChildren(
        this,
        value === null || value === undefined || value === ""
          ? null
          : this.ownerDocument.createTextNode(value),
      );
    }
    get baseURI() {
      return globalThis.location.href;
    }
    hasChildNodes() {
      return this.firstChild !== null;
    }
    getRootNode() {
      let node = this;
      while (node.parentNode) node = node.parentNode;
      return node;
    }
    contains(other) {
      for (; other; other = other.parentNode) if (other === this) return true;
      return false;
    }
    appendChild(node) {
      return insert(this, node, null);
    }
    insertBefore(node, before) {
      return insert(this, node, before ?? null);
    }
    removeChild(node) {
      if (!node || node.parentNode !== this) {
        throw new DOMException(
          "The node to be removed is not a child of this node.",
          "NotFoundError",
        );
      }
      detach(node);
      return node;
    }
    replaceChild(node, old) {
      if (!old || old.parentNode !== this) {
        throw new DOMException(
          "The node to be replaced is not a child of this node.",
          "NotFoundError",
        );
      }
      if (node === old) return old;
      const after = old.nextSibling === node ? node.nextSibling : old.nextSibling;
      detach(old);
      insert(this, node, after);
      return old;
    }
    cloneNode(deep) {
      const copy = this.shallowCopy();
      if (deep) {
        for (let child = this.firstChild; child; child = child.nextSibling) {
          link(copy, child.cloneNode(true), null);
        }
      }
      return copy;
    }
    normalize() {
      for (let child = this.firstChild, next; child; child = next) {
        next = child.nextSibling;
        if (child.nodeType !== 3) child.normalize();
        else if (child.data === "") detach(child);
        else if (next && next.nodeType === 3) {
          next.data = child.data + next.data;
          detach(child);
        }
      }
    }
    isSameNode(other) {
      return this === other;
    }
    isEqualNode(other) {
      return (
        !!other &&
        this.nodeType === other.nodeType &&
        drrn.serialise(this, true) === drrn.serialise(other, true)
      );
    }
    compareDocumentPosition(other) {
      if (this === other) return 0;
      const mine = ancestors(this);
      const theirs = ancestors(other);
      if (mine[0] !== theirs[0]) return 1 | 32 | 4;
      let depth = 1;
      while (depth < mine.length && depth < theirs.length && mine[depth] === theirs[depth]) depth++;
      if (depth === mine.length) return 16 | 4;
      if (depth === theirs.length) return 8 | 2;
      for (let node = mine[depth].nextSibling; node; node = node.nextSibling) {
        if (node === theirs[depth]) return 4;
      }
      return 2;
    }
    toJSON() {
      return {}; // as in a browser, whose nodes inherit all fields
    }
  }
  Object.defineProperty(Node.prototype, "toJSON", { enumerable: false });
  const kinds = {
    ELEMENT_NODE: 1, ATTRIBUTE_NODE: 2, TEXT_NODE: 3, CDATA_SECTION_NODE: 4, PROCESSING_INSTRUCTION_NODE: 7, COMMENT_NODE: 8,
    DOCUMENT_NODE: 9, DOCUMENT_TYPE_NODE: 10, DOCUMENT_FRAGMENT_NODE: 11, DOCUMENT_POSITION_DISCONNECTED: 1,
    DOCUMENT_POSITION_PRECEDING: 2, DOCUMENT_POSITION_FOLLOWING: 4, DOCUMENT_POSITION_CONTAINS: 8,
    DOCUMENT_POSITION_CONTAINED_BY: 16,
  };
  Object.assign(Node, kinds);
  Object.assign(Node.prototype, kinds);
  drrn.expose("Node", Node);

  function ancestors(node) {
    const line = [];
    for (; node; node = node.parentNode) line.push(node);
    return line.reverse();
  }

  function textOf(node) {
    const first = node.firstChild;
    if (!first) return "";
    if (first === node.lastChild && first.nodeType === 3) return first.data;
    let text = "";
    for (let child = first; child; child = child.nextSibling) {
      if (child.nodeType === 3) text += child.data;
      else if (child.nodeType === 1) text += textOf(child);
    }
    return text;
  }

  /** Links a node without a parent into the tree; nothing is notified. */
  function link(parent, node, before) {
    const previous = before ? before.previousSibling : parent.lastChild;
    node.parentNode = parent;
    node.previousSibling = previous;
    node.nextSibling = before;
    if (previous) previous.nextSibling = node;
    else parent.firstChild = node;
    if (before) before.previousSibling = node;
    else parent.lastChild = node;
    if (parent.childList) {
      if (before) parent.childList.splice(parent.childList.indexOf(before), 0, node);
      else parent.childList.push(node);
    }
  }
  drrn.link = link;

  function unlink(node) {
    const parent = node.parentNode;
    const { previousSibling: previous, nextSibling: next } = node;
    if (previous) previous.nextSibling = next;
    else parent.firstChild = next;
    if (next) next.previousSibling = previous;
    else parent.lastChild = previous;
    if (parent.childList) {
      const list = parent.childList;
      if (previous === null) list.shift();
      else list.splice(list.lastIndexOf(node), 1);
    }
    node.parentNode = node.previousSibling = node.nextSibling = null;
  }

  function detach(node) {
    const parent = node.parentNode;
    if (!parent) return;
    const previous = node.previousSibling;
    const next = node.nextSibling;
    const notifies = drrn.hooks.enabled && parent.isConnected;
    unlink(node);
    tree.version++;
    drrn.hooks.rangesAfterRemoval?.(node, parent);
    if (notifies) drrn.hooks.onRemove(node);
    if (drrn.hooks.hasObservers) drrn.hooks.childList(parent, [], [node], previous, next);
  }
  drrn.detach = detach;

  function adopt(node, document) {
    if (node.ownerDocument === document) return;
    node.ownerDocument = document;
    for (let child = node.firstChild; child; child = child.nextSibling) adopt(child, document);
  }

  function insertOne(parent, node, before) {
    if (node.parentNode) detach(node);
    adopt(node, parent.nodeType === 9 ? parent : parent.ownerDocument);
    const previous = before ? before.previousSibling : parent.lastChild;
    link(parent, node, before);
    tree.version++;
    if (drrn.hooks.hasObservers) drrn.hooks.childList(parent, [node], [], previous, before);
    if (drrn.hooks.enabled && parent.isConnected) drrn.hooks.onInsert(node);
  }

  function insert(parent, node, before) {
    if (!node || node.nodeType === undefined) {
      throw new TypeError("parameter 1 is not of type 'Node'.");
    }
    if (before && before.parentNode !== parent) {
      throw new DOMException(
        "The node before which the new node is to be inserted is not a child of this node.",
        "NotFoundError",
      );
    }
    if (parent.nodeType === 3 || parent.nodeType === 8) {
      throw new DOMException(
        "This node type does not support this method.",
        "HierarchyRequestError",
      );
    }
    if (node.firstChild !== null && node.contains(parent)) {
      throw new DOMException("The new child element contains the parent.", "HierarchyRequestError");
    }
    if (node.nodeType === 11) {
      const children = node.childNodes.slice();
      // From the end, so that no list is shifted.
      for (let index = children.length - 1; index >= 0; index--) unlink(children[index]);
      for (const child of children) insertOne(parent, child, before);
    } else if (node !== before) {
      insertOne(parent, node, before);
    }
    return node;
  }
  drrn.insert = insert;

  function replaceChildren(parent, node) {
    while (parent.lastChild) detach(parent.lastChild);
    if (node) insert(parent, node, null);
    if (parent.textChanged) parent.textChanged();
  }
  drrn.replaceChildren = replaceChildren;

  /** Hooks for scripts, custom elements and observers; all are rare, so flags guard them. */
  drrn.hooks = {
    enabled: false,
    hasObservers: false,
    onInsert() {},
    onRemove() {},
    childList() {},
  };
})(globalThis.__drrn);
