// The HTML tree builder: implied and misnested tags, tables, forms and raw text, as in browsers.
(function (drrn) {
  "use strict";
  const HTML = "http://www.w3.org/1999/xhtml";
  const SVG = "http://www.w3.org/2000/svg";
  const set = (text) => new Set(text.split(" "));

  const voids = (drrn.voids = set(
    "area base basefont bgsound br col command embed frame hr img input keygen link meta param source track wbr",
  ));
  const closesParagraph = set(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup main menu nav ol " +
      "p search section summary ul pre listing form table hr xmp plaintext h1 h2 h3 h4 h5 h6 li dd dt");
  const headings = set("h1 h2 h3 h4 h5 h6");
  const formatting = (drrn.formatting = set(
    "a b big code em font i nobr s small strike strong tt u",
  ));
  const special = (drrn.special = set(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd details dir div dl " +
      "dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input " +
      "keygen li link listing main marquee menu meta nav noembed noframes noscript object ol p param plaintext pre script section " +
      "select source style summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp"));
  const scopes = {
    plain: set("applet caption html table td th marquee object template foreignobject desc"),
  };
  scopes.button = new Set([...scopes.plain, "button"]);
  scopes.list = new Set([...scopes.plain, "ol", "ul"]);
  scopes.table = set("html table template");
  const impliedEndTags = set("dd dt li optgroup option p rb rp rt rtc");
  const inHead = set(
    "base basefont bgsound link meta noframes noscript script style template title",
  );
  const tableParts = set("caption colgroup col tbody tfoot thead tr td th");
  const tableRoots = set("table tbody tfoot thead tr");
  const headingTag = (name) => headings.has(name);

  class Builder {
    constructor(document, context) {
      this.document = document;
      this.context = context; // the element whose innerHTML this is, or null for a whole document
      this.stack = [];
      this.active = []; // open formatting elements, null for a marker
      this.phase = context ? "body" : "head";
      this.headStarted = false;
      this.headEnded = false;
      this.form = null;
      // A complete script of the document, which must run before the rest is parsed.
      this.script = null;
    }
    get current() {
      return this.stack[this.stack.length - 1];
    }
    get currentName() {
      return this.stack.length === 1 && this.context
        ? this.context.localName
        : this.current.localName;
    }
    inScope(test, scope = scopes.plain) {
      const matches = typeof test === "string" ? (name) => name === test : test;
      for (let i = this.stack.length - 1; i >= 0; i--) {
        const name = this.stack[i].localName;
        if (matches(name)) return true;
        if (scope.has(name)) return false;
      }
      return false;
    }
    popUntil(test) {
      const matches = typeof test === "string" ? (name) => name === test : test;
      while (this.stack.length > 1) if (matches(this.stack.pop().localName)) return;
    }
    impliedEnds(except) {
      while (impliedEndTags.has(this.current.localName) && this.current.localName !== except) {
        this.stack.pop();
      }
    }
    closeParagraph() {
      if (!this.inScope("p", scopes.button)) return;
      this.impliedEnds("p");
      this.popUntil("p");
    }

    /** Where to insert: in the current element, or before a table that cannot contain the node. */
    insertionPoint(foster) {
      const current = this.current;
      if (foster && tableRoots.has(this.currentName) && this.stack.length > 1) {
        for (let i = this.stack.length - 1; i > 0; i--) {
          const node = this.stack[i];
          if (node.localName === "template") return [node.content, null];
          if (node.localName === "table") {
            return node.parentNode ? [node.parentNode, node] : [this.stack[i - 1], null];
          }
        }
      }
      return [
        current.localName === "template" && current.content ? current.content : current,
        null,
      ];
    }
    put(node, foster) {
      const [parent, before] = this.insertionPoint(foster);
      if (this.context) drrn.link(parent, node, before);
      else drrn.insert(parent, node, before);
    }
    create(name, attributes, namespace = HTML) {
      const element = this.document.elementNamed(name, namespace, !this.context);
      if (attributes.size) {
        element.attributeMap = new Map(attributes);
        for (const [key, value] of attributes) {
          if (key.charCodeAt(0) === 111 || element.attributeChangedCallback) {
            element.applyAttribute(key, null, value);
          }
        }
      }
      return element;
    }
    open(name, attributes, { foster = false, namespace = HTML } = {}) {
      const element = this.create(name, attributes, namespace);
      this.put(element, foster);
      this.stack.push(element);
      return element;
    }
    insertText(text, foster) {
      const [parent, before] = this.insertionPoint(foster);
      const previous = before ? before.previousSibling : parent.lastChild;
      if (previous && previous.nodeType === 3) previous.data += text;
      else this.put(new Text(text, this.document), foster);
    }

    /** Whether a template of the head is open, which may contain anything. */
    openTemplate() {
      return this.stack.some((element) => element.localName === "template");
    }
    /** Ends the head and starts the body at the first node that cannot be in a head. */
    toBody(attributes = new Map()) {
      if (this.phase === "body") return;
      this.phase = "body";
      this.stack.length = 1;
      const body = this.document.body;
      if (body) this.stack.push(body);
      else this.open("body", attributes);
    }
    doctype(name) {
      this.document.quirks = false;
      if (!this.context && !this.document.doctype) {
        drrn.insert(this.document, new DocumentType(this.document, name), this.document.firstChild);
      }
    }
    comment(data) {
      const node = new Comment(data, this.document);
      if (!this.context && !this.headStarted && this.phase === "head") {
        drrn.insert(this.document, node, this.document.documentElement);
      } else if (this.phase === "body" || this.headEnded === false) this.put(node, false);
      else drrn.insert(this.document.documentElement, node, null);
    }
    characters(text) {
      if (this.context === null && this.phase === "head" && !this.openTemplate()) {
        const rest = text.replace(/^[ \t\n\f\r]+/, "");
        if (rest === "") {
          return void (this.headEnded || !this.headStarted || this.insertText(text, false));
        }
        if (rest !== text && this.headStarted && !this.headEnded) {
          this.insertText(text.slice(0, text.length - rest.length), false);
        }
        this.toBody();
        text = rest;
      }
      if (tableRoots.has(this.currentName)) {
        if (/^[ \t\n\f\r]*$/.test(text)) return this.insertText(text, false);
        this.reconstruct();
        return this.insertText(text, true);
      }
      this.reconstruct();
      this.insertText(text.indexOf("\0") < 0 ? text : text.replace(/\0/g, ""), false);
    }

    startTag(name, attributes, selfClosing, tokens) {
      if (
        this.current &&
        this.current.namespaceURI === SVG &&
        this.current.localName !== "foreignobject" &&
        name !== "script"
      ) {
        const element = this.open(name, attributes, { namespace: SVG });
        if (selfClosing) this.stack.pop();
        return element;
      }
      if (name === "html") return this.merge(this.document.documentElement, attributes);
      if (this.phase === "head" && !this.openTemplate()) {
        if (name === "head") {
          this.headStarted = true;
          return this.merge(this.document.head, attributes);
        }
        if (name === "body") return this.toBody(attributes);
        if (inHead.has(name)) return this.headTag(name, attributes, tokens);
        this.toBody();
      } else if (name === "head") return;
      if (name === "body") return this.merge(this.context ? null : this.document.body, attributes);
      drrn.inBody(this, name, attributes, selfClosing, tokens);
    }
    merge(element, attributes) {
      if (!element || this.context) return;
      for (const [key, value] of attributes) {
        if (!element.hasAttribute(key)) element.setAttribute(key, value);
      }
    }
    headTag(name, attributes, tokens, foster = false) {
      this.headStarted = true;
      const element = this.open(name, attributes, { foster });
      if (voids.has(name)) this.stack.pop();
      else if (name !== "template") this.raw(element, name, tokens);
      return element;
    }
    /** Scripts, styles, titles and text areas: everything up to the end tag is one text. */
    raw(element, name, tokens) {
      let text = tokens.rawUntil(name);
      if (name === "title" || name === "textarea") text = drrn.decode(text, false);
      if (name === "textarea" && text.startsWith("\n")) text = text.slice(1);
      if (text !== "") this.insertText(text, false);
      this.stack.pop();
      if (name === "script" && !this.context) this.script = element;
      if (element.textChanged) element.textChanged();
    }

    endTag(name) {
      if (this.phase === "head") {
        if (name === "head") return void ((this.headEnded = true), (this.stack.length = 2));
        if (this.openTemplate()) return drrn.endInBody(this, name);
        if (name !== "body" && name !== "html" && name !== "br") return;
        this.toBody();
      }
      if (name === "body" || name === "html") return;
      drrn.endInBody(this, name);
    }

    /** Reopens formatting that a closed block interrupted. */
    reconstruct() {
      const list = this.active;
      let i = list.length - 1;
      if (i < 0 || list[i] === null || this.stack.includes(list[i])) return;
      while (i > 0 && list[i - 1] !== null && !this.stack.includes(list[i - 1])) i--;
      for (; i < list.length; i++) {
        list[i] = this.open(list[i].localName, list[i].attributeMap, { foster: true });
      }
    }
    pushFormatting(element) {
      let same = 0;
      for (let i = this.active.length - 1; i >= 0 && this.active[i] !== null; i--) {
        if (drrn.sameTag(this.active[i], element) && ++same === 3) this.active.splice(i, 1);
      }
      this.active.push(element);
    }
    clearToMarker() {
      while (this.active.length && this.active.pop() !== null);
    }
  }
  drrn.Builder = Builder;

  Object.assign(drrn, {
    tagSets: {
      closesParagraph,
      headings,
      headingTag,
      scopes,
      tableParts,
      tableRoots,
      inHead,
    },
  });

  drrn.parseFragment = function (markup, context) {
    const document = context.ownerDocument || context;
    const fragment = new DocumentFragment(document);
    const parent = context.nodeType === 1 ? context : document.createElement("body");
    const name = parent.localName;
    if (drrn.rawText.has(name) || name === "textarea" || name === "title") {
      fragment.appendChild(
        new Text(
          name === "textarea" || name === "title" ? drrn.decode(markup, false) : markup,
          document,
        ),
      );
      return fragment;
    }
    const builder = new Builder(document, parent);
    const root = document.elementNamed("html", HTML, false);
    builder.stack.push(root);
    const tokens = new drrn.Tokeniser(markup, builder);
    while (!tokens.atEnd) tokens.step();
    while (root.firstChild) {
      const child = root.firstChild;
      root.firstChild = child.nextSibling;
      child.parentNode = child.previousSibling = child.nextSibling = null;
      drrn.link(fragment, child, null);
    }
    return fragment;
  };

  /** Parses a document; next() stops at each script, which the caller runs before it continues. */
  drrn.documentParser = function (document, markup) {
    const builder = new Builder(document, null);
    document.quirks = true; // until a document type is parsed
    const html = document.documentElement || document.appendChild(document.createElement("html"));
    const head = document.head || html.appendChild(document.createElement("head"));
    builder.stack.push(html, head);
    const tokens = new drrn.Tokeniser(markup.replace(/^\uFEFF/, ""), builder);
    return {
      tokens,
      next() {
        builder.script = null;
        while (!tokens.atEnd) {
          tokens.step();
          if (builder.script) return builder.script;
        }
        builder.toBody();
        return null;
      },
    };
  };
})(globalThis.__drrn);
