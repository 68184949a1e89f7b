// Reads the page as a player sees it: pieces of text with line breaks, and the links between them.
(function (drrn) {
  "use strict";

  const SKIPPED = new Set(["script", "style", "template", "noscript", "head", "title", "audio", "video", "object",
    "tw-storydata", "tw-passagedata", "tw-sidebar", "tw-icon", "tw-open-button",
    "theme-switcher", "restart-link", "warning-list", "error-handler", "page-skip-indicator", "svg", "canvas", "iframe", "datalist"]);
  // Elements with a blank line around them.
  const PARAGRAPHS = new Set(["p", "blockquote", "dl", "pre", "hr", "table", "figure"]);
  const CONTINUE = "Continue"; // label of pressing anywhere on a page
  const ICONS = /[\uE000-\uF8FF]/g; // characters of icon fonts
  // A zero-width non-joiner: Twine 1 writes it where <<nobr>> removes a line break.
  const INVISIBLE = /(?<![\u0600-\u0DFF])\u200C|\u200C(?![\u0600-\u0DFF])/g;
  const INLINE = /^(inline|contents|ruby|none)/;
  const CELL = /^table-cell/;

  /** Builds the pieces: white space collapses, and line breaks are pending until text follows. */
  class Writer {
    constructor() {
      this.pieces = [];
      this.actions = [];
      this.boxes = [];
      this.labelNodes = new Set(); // texts that are labels of actions
      this.breaks = 0; // pending line breaks
      this.space = false; // a pending blank
      this.fresh = true; // at the start of a line
    }

    before() {
      if (this.breaks && this.pieces.length) this.pieces.push("\n".repeat(this.breaks));
      else if (this.space && !this.fresh) this.pieces.push(" ");
      this.breaks = 0;
      this.space = false;
      this.fresh = false;
    }

    text(words) {
      const text = words.replace(ICONS, "").replace(INVISIBLE, "").replace(/[ \t\n\r\f]+/g, " ");
      if (text === "") return;
      if (text[0] === " ") this.blank();
      const core = text.replace(/^ | $/g, "");
      if (core === "") return;
      this.before();
      this.pieces.push(core);
      if (text[text.length - 1] === " ") this.blank();
    }

    blank() {
      if (!this.fresh && !this.breaks) this.space = true;
    }

    /** Ends a line, with at least `least` pending breaks in all. */
    line(least) {
      this.breaks = Math.max(this.breaks, least);
      this.space = false;
      this.fresh = true;
    }

    lineBreak() {
      this.line(this.breaks + 1);
    }

    link(action, label, target) {
      this.before();
      this.pieces.push({ link: this.actions.length, label, target });
      this.actions.push(action);
    }
  }

  function styleOf(element) {
    return getComputedStyle(element);
  }

  function isBlock(element, style, parentDisplay) {
    if (/(flex|grid)$/.test(parentDisplay)) return true;
    if (/^(absolute|fixed)$/.test(style.position || "")) return true;
    if (/^(left|right)$/.test(style.float || style.cssFloat || "")) return true;
    return !INLINE.test(style.display || "inline") && !CELL.test(style.display);
  }

  /** The text of an element on one line; pictures have their alternative text. */
  function wordsOf(element) {
    const writer = new Writer();
    const style = styleOf(element);
    walkChildren(
      element,
      writer,
      style.display,
      style.visibility === "visible" || !style.visibility,
      true,
    );
    const texts = writer.pieces.map((piece) => (typeof piece === "string" ? piece : piece.label));
    const words = texts.join("");
    return words.replace(/\s+/g, " ").trim() || nameOf(element);
  }

  /** The label of an element without text: an attribute, else its picture's file or its id. */
  function nameOf(element) {
    for (const name of ["alt", "aria-label", "title", "value"]) {
      const words = element.getAttribute(name);
      if (words && words.trim()) return words.trim();
    }
    const picture = element.localName === "img" ? element : element.querySelector("img");
    const file = picture && /([^/\\]+)\.\w+$/.exec(picture.getAttribute("src") || "");
    return file ? file[1].replace(/[_-]+/g, " ") : element.id;
  }

  function labelFor(check) {
    return check.id
      ? document.querySelector(`label[for="${check.id.replace(/["\\]/g, "\\$&")}"]`)
      : null;
  }

  function isCheck(control) {
    return /^(checkbox|radio)$/i.test(control.getAttribute("type") || "");
  }

  /** The text of a check box: its label, else the text next to it, which is then skipped. */
  function labelOf(check, writer) {
    const label = labelFor(check);
    if (label) return wordsOf(label);
    const sibling = check.nextSibling;
    const words = sibling && sibling.nodeType === 3 ? sibling.data.replace(/\s+/g, " ").trim() : "";
    if (words) writer.labelNodes.add(sibling);
    return words || nameOf(check) || check.getAttribute("name") || "tick";
  }

  function checkLabel(check, words) {
    return check.getAttribute("type") === "radio"
      ? words
      : `[${check.checked ? "x" : " "}] ${words}`;
  }

  function offerOptions(select, writer) {
    Array.from(select.options).forEach((option, index) => {
      const words = (option.textContent || "").replace(/\s+/g, " ").trim() || option.value;
      if (index > 0) writer.line(1);
      if (index === select.selectedIndex) writer.text(words);
      else if (!option.disabled) {
        writer.link({ element: select, kind: "select", option }, words, "");
      }
    });
    writer.blank();
  }

  /** Add an element as an action; false if it is text instead. */
  function offer(element, kind, writer) {
    if (kind === "box") writer.boxes.push(element);
    else if (kind === "select") offerOptions(element, writer);
    else if (kind === "anywhere") return false; // the whole page is pressed, so its text stays text
    else if (kind === "label") {
      const check = element.querySelector("input[type=checkbox],input[type=radio]");
      if (drrn.kindOf(check)) {
        writer.link({ element: check, kind: "check" }, checkLabel(check, wordsOf(element)), "");
      } else return false;
    } else if (kind === "check") {
      writer.link({ element, kind }, checkLabel(element, labelOf(element, writer)), "");
    } else {
      const label = wordsOf(element);
      const target = drrn.targetOf(element);
      if (!label && !target) return false;
      writer.link({ element, kind }, label, target);
    }
    return true;
  }

  function labelsAnother(element) {
    const id = element.localName === "label" && element.getAttribute("for");
    const control = id ? document.getElementById(id) : null;
    if (!control || !isCheck(control) || element.contains(control)) return false;
    return drrn.kindOf(control) === "check"; // a choice that was made, or cannot be made, is text
  }

  function walkElement(element, writer, parentDisplay, plain) {
    const name = element.localName;
    if (SKIPPED.has(name) || drrn.format.own(element)) return;
    if (name === "br" || name === "tw-consecutive-br") {
      writer.lineBreak();
      return;
    }
    const style = styleOf(element);
    if (style.display === "none") return;
    const visible = !style.visibility || style.visibility === "visible";
    const block = isBlock(element, style, parentDisplay);
    const least = PARAGRAPHS.has(name) ? 2 : 1;
    if (block) writer.line(writer.pieces.length ? least : 0);
    if (name === "img" || name === "area") {
      if (plain && visible) {
        writer.text(element.getAttribute("alt") || element.getAttribute("title") || "");
      }
    } else if (!plain && visible && labelsAnother(element)) {
      // its text is the label of the check box
    } else {
      const kind = plain || !visible ? null : drrn.kindOf(element);
      if (!kind || !offer(element, kind, writer)) {
        walkChildren(element, writer, style.display, visible, plain);
      }
      if (kind === "anywhere") {
        writer.line(1);
        writer.link(
          { element: element.querySelector("tw-passage") || element, kind: "click" },
          CONTINUE,
          "",
        );
      }
    }
    if (block) writer.line(writer.pieces.length ? least : 0);
    else if (CELL.test(style.display)) writer.blank();
  }

  function walkChildren(element, writer, display, visible, plain) {
    const isClosed = element.localName === "details" && !element.hasAttribute("open");
    for (let node = element.firstChild; node; node = node.nextSibling) {
      if (isClosed && node.localName !== "summary") continue;
      if (node.nodeType === 1) walkElement(node, writer, display, plain);
      else if (writer.labelNodes.has(node)) writer.blank();
      else if (node.nodeType === 3 && visible) {
        if (element.localName === "pre") {
          node.data.split("\n").forEach((part, index) => {
            if (index) writer.lineBreak();
            writer.text(part);
          });
        } else writer.text(node.data);
      }
    }
  }

  // The visible page below these elements: pieces, actions in order, and text boxes. The links of a
  // side bar come last; a page without other links ends the story, unless it was opened from there.
  // `extra` is one more action: a click anywhere, or to wait.
  drrn.read = function read(roots, sideBar = [], isAside = false, extra = null) {
    const writer = new Writer();
    for (const root of roots) {
      writer.line(writer.pieces.length ? 2 : 0);
      walkElement(root, writer, "block", false);
    }
    if (!writer.actions.length && writer.boxes.length) {
      const box = writer.boxes[0]; // nothing to press, so a player types and presses Enter
      writer.line(1);
      writer.link({ element: box, kind: "enter" }, box.value || "Enter", "");
    }
    if (extra) {
      writer.line(1);
      writer.link(extra, extra.label ?? CONTINUE, "");
    }
    const { actions, boxes } = writer;
    const own = actions.length;
    for (const element of own || isAside ? sideBar : []) {
      writer.line(writer.pieces.length ? 2 : 0);
      walkElement(element, writer, "block", false);
    }
    return { pieces: mergeStrings(writer.pieces), actions, boxes, own };
  };

  function mergeStrings(pieces) {
    const result = [];
    for (const piece of pieces) {
      const last = result.length - 1;
      if (typeof piece === "string" && typeof result[last] === "string") result[last] += piece;
      else result.push(piece);
    }
    return result;
  }
})(globalThis.__drrn);
