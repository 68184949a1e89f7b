// Text, comments, fragments and document types; and the common methods of parents and children.
(function (drrn) {
  "use strict";

  class CharacterData extends Node {
    constructor(ownerDocument, data) {
      super(ownerDocument);
      this.text = data;
    }
    get data() {
      return this.text;
    }
    set data(value) {
      const old = this.text;
      this.text = value === null ? "" : String(value);
      drrn.tree.version++;
      if (drrn.hooks.hasObservers) drrn.hooks.characterData(this, old);
    }
    get length() {
      return this.text.length;
    }
    get nodeValue() {
      return this.text;
    }
    set nodeValue(value) {
      this.data = value;
    }
    get textContent() {
      return this.text;
    }
    set textContent(value) {
      this.data = value;
    }
    appendData(more) {
      this.data = this.text + more;
    }
    substringData(offset, count) {
      return this.text.substr(offset, count);
    }
    insertData(offset, more) {
      this.data = this.text.slice(0, offset) + more + this.text.slice(offset);
    }
    deleteData(offset, count) {
      this.data = this.text.slice(0, offset) + this.text.slice(offset + count);
    }
    replaceData(offset, count, more) {
      this.data = this.text.slice(0, offset) + more + this.text.slice(offset + count);
    }
  }

  class Text extends CharacterData {
    constructor(data = "", ownerDocument = globalThis.document) {
      super(ownerDocument, String(data));
    }
    get nodeType() {
      return 3;
    }
    get nodeName() {
      return "#text";
    }
    get wholeText() {
      let first = this;
      while (first.previousSibling && first.previousSibling.nodeType === 3) {
        first = first.previousSibling;
      }
      let text = "";
      for (; first && first.nodeType === 3; first = first.nextSibling) text += first.data;
      return text;
    }
    splitText(offset) {
      const rest = new Text(this.text.slice(offset), this.ownerDocument);
      this.data = this.text.slice(0, offset);
      if (this.parentNode) drrn.insert(this.parentNode, rest, this.nextSibling);
      return rest;
    }
    shallowCopy() {
      return new Text(this.text, this.ownerDocument);
    }
  }

  class Comment extends CharacterData {
    constructor(data = "", ownerDocument = globalThis.document) {
      super(ownerDocument, String(data));
    }
    get nodeType() {
      return 8;
    }
    get nodeName() {
      return "#comment";
    }
    shallowCopy() {
      return new Comment(this.text, this.ownerDocument);
    }
  }

  class DocumentType extends Node {
    constructor(ownerDocument, name) {
      super(ownerDocument);
      this.name = name;
      this.publicId = this.systemId = "";
    }
    get nodeType() {
      return 10;
    }
    get nodeName() {
      return this.name;
    }
    get textContent() {
      return null;
    }
    set textContent(value) {}
    shallowCopy() {
      return new DocumentType(this.ownerDocument, this.name);
    }
  }

  class DocumentFragment extends Node {
    constructor(ownerDocument = globalThis.document) {
      super(ownerDocument);
    }
    get nodeType() {
      return 11;
    }
    get nodeName() {
      return "#document-fragment";
    }
    getElementById(id) {
      for (const element of drrn.descendants(this)) if (element.id === id) return element;
      return null;
    }
    shallowCopy() {
      return new DocumentFragment(this.ownerDocument);
    }
  }
  for (const Class of [CharacterData, Text, Comment, DocumentType, DocumentFragment]) {
    drrn.expose(Class.name, Class);
  }

  /** All elements below a node, in document order. */
  drrn.descendants = function (root) {
    const elements = [];
    let node = root.firstChild;
    while (node) {
      if (node.nodeType === 1) elements.push(node);
      if (node.firstChild) node = node.firstChild;
      else {
        while (node && !node.nextSibling) {
          node = node.parentNode;
          if (node === root) return elements;
        }
        node = node && node.nextSibling;
      }
    }
    return elements;
  };

  /** One node for the arguments of append, before and similar methods: nodes and strings. */
  function asNode(parent, items) {
    if (items.length === 1 && typeof items[0] === "object" && items[0]) return items[0];
    const document = parent.nodeType === 9 ? parent : parent.ownerDocument;
    const fragment = new DocumentFragment(document);
    for (const item of items) {
      fragment.appendChild(item && item.nodeType ? item : new Text(item, document));
    }
    return fragment;
  }

  drrn.mixParent = function (prototype) {
    drrn.mix(prototype, {
      get children() {
        return drrn.collection(this, (parent) =>
          parent.childNodes.filter((child) => child.nodeType === 1),
        );
      },
      get firstElementChild() {
        let child = this.firstChild;
        while (child && child.nodeType !== 1) child = child.nextSibling;
        return child;
      },
      get lastElementChild() {
        let child = this.lastChild;
        while (child && child.nodeType !== 1) child = child.previousSibling;
        return child;
      },
      get childElementCount() {
        let count = 0;
        for (let child = this.firstChild; child; child = child.nextSibling) {
          if (child.nodeType === 1) count++;
        }
        return count;
      },
      append(...items) {
        if (items.length) drrn.insert(this, asNode(this, items), null);
      },
      prepend(...items) {
        if (items.length) drrn.insert(this, asNode(this, items), this.firstChild);
      },
      replaceChildren(...items) {
        drrn.replaceChildren(this, items.length ? asNode(this, items) : null);
      },
      querySelector(selector) {
        return drrn.select(this, String(selector), true);
      },
      querySelectorAll(selector) {
        return drrn.select(this, String(selector), false);
      },
    });
  };

  drrn.mixChild = function (prototype) {
    drrn.mix(prototype, {
      get nextElementSibling() {
        let node = this.nextSibling;
        while (node && node.nodeType !== 1) node = node.nextSibling;
        return node;
      },
      get previousElementSibling() {
        let node = this.previousSibling;
        while (node && node.nodeType !== 1) node = node.previousSibling;
        return node;
      },
      remove() {
        drrn.detach(this);
      },
      before(...items) {
        if (this.parentNode) drrn.insert(this.parentNode, asNode(this.parentNode, items), this);
      },
      after(...items) {
        if (this.parentNode) {
          drrn.insert(this.parentNode, asNode(this.parentNode, items), this.nextSibling);
        }
      },
      replaceWith(...items) {
        const parent = this.parentNode;
        if (!parent) return;
        const next = this.nextSibling;
        drrn.detach(this);
        if (items.length) {
          drrn.insert(
            parent,
            asNode(parent, items),
            next && next.parentNode === parent ? next : null,
          );
        }
      },
    });
  };
  drrn.mixParent(DocumentFragment.prototype);
  drrn.mixChild(CharacterData.prototype);
  drrn.mixChild(DocumentType.prototype);
})(globalThis.__drrn);
