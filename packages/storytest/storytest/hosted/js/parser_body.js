// The tree builder within the body: what start and end tags close, ignore or repair.
(function (drrn) {
  "use strict";
  const { closesParagraph, headings, headingTag, scopes, tableParts, tableRoots, inHead } =
    drrn.tagSets;
  const none = new Map();
  const blocks = new Set(
    [...closesParagraph, "button"].filter((name) =>
      !headings.has(name) && !["p", "li", "dd", "dt", "form", "hr", "table"].includes(name),
    ),
  );
  const inTable = new Set(["script", "style", "template"]);
  const rows = (name) => name === "tbody" || name === "tfoot" || name === "thead";
  const cells = (name) => name === "td" || name === "th";

  drrn.sameTag = function (one, other) {
    if (one.localName !== other.localName || one.attributeMap.size !== other.attributeMap.size) {
      return false;
    }
    for (const [key, value] of one.attributeMap) {
      if (other.attributeMap.get(key) !== value) return false;
    }
    return true;
  };

  drrn.inBody = function (builder, name, attributes, selfClosing, tokens) {
    if (tableParts.has(name)) return tablePart(builder, name, attributes);
    const foster = tableRoots.has(builder.currentName);
    if (name === "svg" || name === "math") {
      builder.reconstruct();
      builder.open(name, attributes, {
        foster,
        namespace: name === "svg"
          ? "http://www.w3.org/2000/svg"
          : "http://www.w3.org/1998/Math/MathML",
      });
      if (selfClosing) builder.stack.pop();
      return;
    }
    if (inHead.has(name) && name !== "noscript") {
      return void builder.headTag(name, attributes, tokens, foster && !inTable.has(name));
    }
    if ((name === "select" || name === "input") && builder.inScope("select")) {
      builder.popUntil("select");
      if (name === "select") return;
    }
    const leavesParagraph =
      ["li", "dd", "dt"].includes(name) ||
      (name === "table" && builder.document.quirks);
    if (closesParagraph.has(name) && !leavesParagraph) builder.closeParagraph();
    if (headings.has(name) && headings.has(builder.current.localName)) builder.stack.pop();
    if (name === "li") closeItem(builder, (open) => open === "li");
    else if (name === "dd" || name === "dt") {
      closeItem(builder, (open) => open === "dd" || open === "dt");
    } else if (name === "button" && builder.inScope("button")) {
      builder.impliedEnds();
      builder.popUntil("button");
    } else if (name === "form") {
      if (builder.form) return;
      builder.form = builder.open(name, attributes);
      if (foster) builder.stack.pop();
      return;
    } else if (name === "a") {
      const open = lastActive(builder, "a");
      if (open) {
        drrn.adopt(builder, "a");
        remove(builder.active, open);
        remove(builder.stack, open);
      }
    } else if (name === "option" || name === "optgroup") {
      if (builder.current.localName === "option") builder.stack.pop();
      if (name === "optgroup" && builder.current.localName === "optgroup") builder.stack.pop();
    } else if (name === "table") foster && builder.popUntil("table");
    if (name === "image") name = "img";
    if (!closesParagraph.has(name) || name === "option") builder.reconstruct();
    const element = builder.open(name, attributes, { foster: true });
    if (drrn.formatting.has(name)) builder.pushFormatting(element);
    else if (drrn.voids.has(name)) builder.stack.pop();
    else if (name === "textarea" || drrn.rawText.has(name)) builder.raw(element, name, tokens);
    else if (name === "pre" || name === "listing") {
      if (tokens.text[tokens.position] === "\n") tokens.position++;
    } else if (name === "applet" || name === "marquee" || name === "object") {
      builder.active.push(null);
    }
  };

  function closeItem(builder, test) {
    for (let i = builder.stack.length - 1; i > 0; i--) {
      const name = builder.stack[i].localName;
      if (test(name)) {
        builder.impliedEnds(name);
        builder.popUntil(name);
        break;
      }
      if (drrn.special.has(name) && name !== "address" && name !== "div" && name !== "p") break;
    }
    builder.closeParagraph();
  }

  /** Rows and cells are allowed only in tables, where missing parents are added. */
  function tablePart(builder, name, attributes) {
    const open = (test) =>
      builder.inScope(test, scopes.table) || test(builder.context ? builder.context.localName : "");
    const inContext = builder.context ? builder.context.localName : "";
    if (builder.current.localName === "template") {
      builder.open(name, attributes); // a template may contain any part of a table
      return void (name === "col" && builder.stack.pop());
    }
    if (!open((each) => tableRoots.has(each) || each === "colgroup")) return;
    const backTo = (names) => {
      while (builder.stack.length > 1 && !names.includes(builder.current.localName)) {
        builder.stack.pop();
      }
    };
    if (builder.inScope(cells, scopes.table)) {
      builder.impliedEnds();
      builder.popUntil(cells);
      builder.clearToMarker();
    }
    if (cells(name)) {
      if (builder.currentName !== "tr") backTo(["tr", "tbody", "thead", "tfoot", "table"]);
      if (builder.currentName === "table") builder.open("tbody", none);
      if (rows(builder.currentName)) builder.open("tr", none);
      builder.open(name, attributes);
      builder.active.push(null);
      return;
    }
    if (name === "tr") {
      backTo(["tbody", "thead", "tfoot", "table"]);
      if (builder.currentName === "table") builder.open("tbody", none);
    } else if (name === "col") {
      if (builder.currentName !== "colgroup") {
        backTo(["table"]);
        if (inContext !== "colgroup") builder.open("colgroup", none);
      }
    } else backTo(["table"]);
    builder.open(name, attributes);
    if (name === "col") builder.stack.pop();
    if (name === "caption") builder.active.push(null);
  }

  function lastActive(builder, name) {
    for (let i = builder.active.length - 1; i >= 0 && builder.active[i] !== null; i--) {
      if (builder.active[i].localName === name) return builder.active[i];
    }
    return null;
  }
  function remove(list, item) {
    const index = list.lastIndexOf(item);
    if (index >= 0) list.splice(index, 1);
  }

  drrn.endInBody = function (builder, name) {
    if (name === "p") {
      if (!builder.inScope("p", scopes.button)) builder.open("p", none, { foster: true });
      builder.closeParagraph();
    } else if (name === "br") {
      builder.reconstruct();
      builder.open("br", none, { foster: true });
      builder.stack.pop();
    } else if (drrn.formatting.has(name)) drrn.adopt(builder, name);
    else if (headings.has(name)) {
      if (builder.inScope(headingTag)) close(builder, headingTag);
    } else if (name === "li") builder.inScope("li", scopes.list) && close(builder, "li");
    else if (name === "form") endForm(builder);
    else if (blocks.has(name) || name === "dd" || name === "dt") {
      builder.inScope(name) && close(builder, name);
    } else if (tableParts.has(name) || name === "table" || name === "template") {
      if (!builder.inScope(name, scopes.table)) return;
      close(builder, name);
      if (cells(name) || name === "caption") builder.clearToMarker();
    } else if (name === "applet" || name === "marquee" || name === "object") {
      if (builder.inScope(name)) close(builder, name), builder.clearToMarker();
    } else anyOther(builder, name);
  };

  function close(builder, test) {
    builder.impliedEnds(typeof test === "string" ? test : undefined);
    builder.popUntil(test);
  }
  function endForm(builder) {
    const form = builder.form;
    builder.form = null;
    if (!form || !builder.stack.includes(form)) {
      return void (builder.inScope("form") && close(builder, "form"));
    }
    builder.impliedEnds();
    remove(builder.stack, form);
  }
  function anyOther(builder, name) {
    for (let i = builder.stack.length - 1; i > 0; i--) {
      const open = builder.stack[i].localName;
      if (open === name) {
        builder.impliedEnds(name);
        builder.stack.length = Math.min(builder.stack.length, i);
        return;
      }
      if (drrn.special.has(open) && builder.stack[i].namespaceURI.endsWith("xhtml")) return;
    }
  }

  /** The "adoption agency": an end tag of formatting inside a block that it contains. */
  drrn.adopt = function (builder, name) {
    const { stack, active } = builder;
    if (builder.current.localName === name && !active.includes(builder.current)) {
      return void stack.pop();
    }
    for (let round = 0; round < 8; round++) {
      const formatting = lastActive(builder, name);
      if (!formatting) return anyOther(builder, name);
      const index = stack.indexOf(formatting);
      if (index < 0) return remove(active, formatting);
      if (!builder.inScope(name)) return;
      let furthest = index + 1;
      while (furthest < stack.length && !drrn.special.has(stack[furthest].localName)) furthest++;
      if (furthest === stack.length) {
        stack.length = index;
        return remove(active, formatting);
      }
      adoptOnce(builder, formatting, index, furthest);
    }
  };

  function adoptOnce(builder, formatting, index, furthest) {
    const { stack, active } = builder;
    const block = stack[furthest];
    const ancestor = stack[index - 1];
    let bookmark = active.indexOf(formatting);
    let last = block;
    for (let i = furthest - 1, count = 1; i > index; i--, count++) {
      const node = stack[i];
      const position = active.indexOf(node);
      if (position < 0 || count > 3) {
        if (position >= 0) active.splice(position, 1);
        stack.splice(i, 1);
        continue;
      }
      const copy = builder.create(node.localName, node.attributeMap);
      active[position] = stack[i] = copy;
      if (last === block) bookmark = position + 1;
      drrn.insert(copy, last, null);
      last = copy;
    }
    if (tableRoots.has(ancestor.localName) && ancestor.parentNode) {
      const table = ancestor.closest("table");
      drrn.insert(table.parentNode, last, table);
    } else drrn.insert(ancestor.content || ancestor, last, null);
    const copy = builder.create(formatting.localName, formatting.attributeMap);
    while (block.firstChild) drrn.insert(copy, block.firstChild, null);
    drrn.insert(block, copy, null);
    const old = active.indexOf(formatting);
    active.splice(bookmark, 0, copy);
    active.splice(old < bookmark ? old : old + 1, 1);
    remove(stack, formatting);
    stack.splice(stack.indexOf(block) + 1, 0, copy);
  }
})(globalThis.__drrn);
