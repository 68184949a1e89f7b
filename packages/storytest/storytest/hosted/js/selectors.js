// Selectors: parsed once into cached closures, and matched from right to left.
(function (drrn) {
  "use strict";

  const identifier =
    /^(?:--|-?(?:[_a-zA-Z\u0080-\uFFFF]|\\[\s\S]))(?:[-\w\u0080-\uFFFF]|\\[0-9a-fA-F]{1,6}\s?|\\[\s\S])*|^-?\\[0-9a-fA-F]{1,6}\s?(?:[-\w\u0080-\uFFFF]|\\[0-9a-fA-F]{1,6}\s?|\\[\s\S])*/;
  const attribute =
    /^\[\s*((?:[-\w\u0080-\uFFFF:.]|\|(?!=)|\\[\s\S])+)\s*(?:([~|^$*]?=)\s*(?:"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|((?:[-\w\u0080-\uFFFF]|\\[\s\S])+))\s*([iIsS])?\s*)?\]/;
  const unescape = (text) =>
    text.indexOf("\\") < 0
      ? text
      : text.replace(/\\([0-9a-fA-F]{1,6})\s?|\\([\s\S])/g, (_, hex, char) =>
        (hex ? String.fromCodePoint(parseInt(hex, 16) || 0xfffd) : char),
      );

  function invalidSelector(selector) {
    return new DOMException(`'${selector}' is not a valid selector.`, "SyntaxError");
  }

  /** A reader over one selector text. */
  class Reader {
    constructor(text) {
      this.whole = text;
      this.rest = text.trim();
    }
    take(pattern) {
      const match = pattern.exec(this.rest);
      if (!match) return null;
      this.rest = this.rest.slice(match[0].length);
      return match;
    }
    name() {
      const match = this.take(identifier);
      if (!match) throw invalidSelector(this.whole);
      return unescape(match[0]);
    }
    /** The text between nested parentheses. */
    argument() {
      let depth = 0;
      for (let i = 0; i < this.rest.length; i++) {
        const char = this.rest[i];
        if (char === "\\") i++;
        else if (char === '"' || char === "'") {
          const end = this.rest.indexOf(char, i + 1);
          if (end < 0) throw invalidSelector(this.whole);
          i = end;
        } else if (char === "(") depth++;
        else if (char === ")" && --depth === 0) {
          const text = this.rest.slice(1, i);
          this.rest = this.rest.slice(i + 1);
          return text.trim();
        }
      }
      throw invalidSelector(this.whole);
    }
  }

  function attributeTest(match) {
    const name = unescape(match[1]).toLowerCase();
    const operator = match[2];
    if (!operator) return (element) => element.attributeMap.has(name);
    const ignoresCase = (match[6] || "").toLowerCase() === "i" || (name === "type" && !match[6]);
    const raw = unescape(match[3] ?? match[4] ?? match[5]);
    const operand = ignoresCase ? raw.toLowerCase() : raw;
    const value = (element) => {
      const text = element.attributeMap.get(name);
      return ignoresCase && text !== undefined ? text.toLowerCase() : text;
    };
    if (operator === "=") return (element) => value(element) === operand;
    if (operator === "~=") {
      return (element) => operand !== "" && drrn.words(value(element) ?? "").includes(operand);
    }
    if (operator === "|=") {
      return (element) =>
        value(element) === operand || (value(element) ?? "").startsWith(operand + "-");
    }
    if (operand === "") return () => false;
    if (operator === "^=") return (element) => (value(element) ?? "").startsWith(operand);
    if (operator === "$=") return (element) => (value(element) ?? "").endsWith(operand);
    return (element) => (value(element) ?? "").includes(operand);
  }

  /** One compound selector: its tests, the key that indexes its rules, and its specificity. */
  function readCompound(reader) {
    const compound = {
      tests: [],
      tag: "",
      id: "",
      className: "",
      specificity: 0,
      pseudoElement: false,
    };
    for (;;) {
      const char = reader.rest[0];
      if (char === "*") {
        reader.rest = reader.rest.slice(1);
        compound.tests.push(null);
      } else if (char === "#") {
        reader.rest = reader.rest.slice(1);
        const id = (compound.id = reader.name());
        compound.tests.push((element) => element.attributeMap.get("id") === id);
        compound.specificity += 10000;
      } else if (char === ".") {
        reader.rest = reader.rest.slice(1);
        const name = (compound.className = reader.name());
        compound.tests.push((element) => element.hasClass(name));
        compound.specificity += 100;
      } else if (char === "[") {
        const match = reader.take(attribute);
        if (!match) throw invalidSelector(reader.whole);
        compound.tests.push(attributeTest(match));
        compound.specificity += 100;
      } else if (char === ":") readPseudo(reader, compound);
      else if (char !== undefined && identifier.test(reader.rest)) {
        if (compound.tests.length) throw invalidSelector(reader.whole);
        const name = reader.name();
        const lower = (compound.tag = name.toLowerCase());
        compound.tests.push((element) => element.localName === lower || element.localName === name);
        compound.specificity += 1;
      } else break;
    }
    if (!compound.tests.length) throw invalidSelector(reader.whole);
    const tests = compound.tests.filter((test) => test);
    const [first, second] = tests;
    if (tests.length === 0) compound.test = () => true;
    else if (tests.length === 1) compound.test = first;
    else if (tests.length === 2) {
      compound.test = (element, scope) => first(element, scope) && second(element, scope);
    } else compound.test = (element, scope) => tests.every((test) => test(element, scope));
    return compound;
  }

  const pseudoElements =
    /^(?:before|after|first-line|first-letter|selection|placeholder|marker|backdrop|cue|part|slotted|highlight|file-selector-button|target-text|(?:spelling|grammar)-error|view-transition.*|-webkit-.*)$/i;
  function readPseudo(reader, compound) {
    if (reader.take(/^::/) || /^:(?:before|after|first-line|first-letter)\b/.test(reader.rest)) {
      reader.take(/^:/);
      if (!pseudoElements.test(reader.name())) throw invalidSelector(reader.whole);
      if (reader.rest[0] === "(") reader.argument();
      compound.pseudoElement = true;
      compound.tests.push(() => false);
      return;
    }
    reader.take(/^:/);
    const name = reader.name().toLowerCase();
    const argument = reader.rest[0] === "(" ? reader.argument() : null;
    const pseudo = drrn.pseudoClass(name, argument);
    if (!pseudo) throw invalidSelector(reader.whole);
    compound.tests.push(pseudo.test);
    compound.specificity += pseudo.specificity;
  }

  /** A complex selector: a compound, a combinator to its left, and the rest. */
  function readComplex(reader, relative) {
    let left = null;
    let combinator = "";
    let specificity = 0;
    if (relative) combinator = (reader.take(/^\s*([>+~])\s*/) || [0, " "])[1];
    if (relative) left = { matches: (element, scope) => element === scope, depth: 0 };
    for (;;) {
      const compound = readCompound(reader);
      specificity += compound.specificity;
      left = { matches: combine(compound.test, combinator, left), compound, specificity };
      const match = reader.take(/^\s*([>+~])\s*|^\s+(?=[^,])/);
      if (!match) return left;
      combinator = match[1] || " ";
    }
  }

  function combine(test, combinator, left) {
    if (!left) return test;
    const before = left.matches;
    if (combinator === ">") {
      return (element, scope) => {
        const parent = element.parentNode;
        return (
          test(element, scope) &&
          parent !== null &&
          parent.nodeType === 1 &&
          before(parent, scope)
        );
      };
    }
    if (combinator === " ") {
      return (element, scope) => {
        if (!test(element, scope)) return false;
        for (let node = element.parentNode; node && node.nodeType === 1; node = node.parentNode) {
          if (before(node, scope)) return true;
        }
        return false;
      };
    }
    if (combinator === "+") {
      return (element, scope) => {
        if (!test(element, scope)) return false;
        const previous = element.previousElementSibling;
        return previous !== null && before(previous, scope);
      };
    }
    return (element, scope) => {
      if (!test(element, scope)) return false;
      for (let node = element.previousElementSibling; node; node = node.previousElementSibling) {
        if (before(node, scope)) return true;
      }
      return false;
    };
  }

  drrn.readSelector = function (text, relative = false) {
    const reader = new Reader(text);
    const list = [];
    for (;;) {
      list.push(readComplex(reader, relative));
      if (!reader.take(/^\s*,\s*/)) break;
    }
    if (reader.rest.trim() !== "") throw invalidSelector(text);
    const [only] = list;
    const matches = list.length === 1
      ? only.matches
      : (element, scope) => list.some((each) => each.matches(element, scope));
    return { list, matches, specificity: Math.max(...list.map((each) => each.specificity)) };
  };

  const cache = new Map();
  drrn.compileSelector = function (text) {
    let selector = cache.get(text);
    if (selector) return selector;
    selector = drrn.readSelector(text);
    // jQuery writes a new id into some selectors, which must not accumulate.
    if (cache.size > 5000) cache.clear();
    cache.set(text, selector);
    return selector;
  };

  /** querySelector and querySelectorAll. */
  drrn.select = function (root, text, onlyFirst) {
    const { matches } = drrn.compileSelector(text);
    const nodes = new NodeList();
    const scope = root.nodeType === 1 ? root : root.documentElement;
    let node = root.firstChild;
    while (node) {
      if (node.nodeType === 1 && matches(node, scope)) {
        if (onlyFirst) return node;
        nodes.push(node);
      }
      if (node.firstChild) node = node.firstChild;
      else {
        while (!node.nextSibling) {
          node = node.parentNode;
          if (node === root || node === null) return onlyFirst ? null : nodes;
        }
        node = node.nextSibling;
      }
    }
    return onlyFirst ? null : nodes;
  };
})(globalThis.__drrn);
