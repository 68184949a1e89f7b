// Style sheets: the page's rules, media queries for a screen of 1280 by 800, and a simple cascade.
(function (drrn) {
  "use strict";
  const tree = drrn.tree;

  const sizes = { width: 1280, height: 800, "device-width": 1280, "device-height": 800 };
  const features = {
    orientation: "landscape", "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", hover: "hover",
    "any-hover": "hover", pointer: "fine", "any-pointer": "fine", "display-mode": "browser", scripting: "enabled", update: "fast",
    "prefers-contrast": "no-preference", "forced-colors": "none", "inverted-colors": "none",
  };
  const UNITS = { em: 16, pt: 4 / 3, cm: 37.8, in: 96 }; // in pixels
  const pixels = (text) => parseFloat(text) * (UNITS[text.slice(-2)] ?? 1);

  const COMPARISONS = {
    "<": (a, b) => a < b,
    "<=": (a, b) => a <= b,
    ">": (a, b) => a > b,
    ">=": (a, b) => a >= b,
    "=": (a, b) => a === b,
  };

  function featureHolds(text) {
    const [name, value] = text.split(":").map((part) => part.trim());
    const range = /^(?:(\S+)\s*([<>]=?)\s*)?([a-z-]+)(?:\s*([<>]=?|=)\s*(\S+))?$/.exec(text.trim());
    if (value === undefined && range && (range[2] || range[4]) && sizes[range[3]] !== undefined) {
      const size = sizes[range[3]];
      return (
        (!range[2] || COMPARISONS[range[2]](pixels(range[1]), size)) &&
        (!range[4] || COMPARISONS[range[4]](size, pixels(range[5])))
      );
    }
    if (value === undefined) {
      return (
        name in sizes ||
        (name in features && !/^(?:no-preference|none)$/.test(features[name])) ||
        name === "color"
      );
    }
    const bound = /^(min|max)-(.+)$/.exec(name);
    if (bound && sizes[bound[2]] !== undefined) {
      return bound[1] === "min"
        ? sizes[bound[2]] >= pixels(value)
        : sizes[bound[2]] <= pixels(value);
    }
    if (bound && /resolution|pixel-ratio/.test(name)) {
      return bound[1] === "min" ? parseFloat(value) <= 1 : parseFloat(value) >= 1;
    }
    if (bound && /aspect-ratio/.test(name)) {
      const [wide, high = 1] = value.split("/").map(Number);
      return bound[1] === "min" ? 1.6 >= wide / high : 1.6 <= wide / high;
    }
    if (name in sizes) return sizes[name] === pixels(value);
    return features[name] === value;
  }

  function queryHolds(query) {
    const text = query.trim().toLowerCase();
    if (text === "") return true;
    const isNegated = /^not\s+(?!\()/.test(text);
    const holds = text.replace(/^(?:not|only)\s+(?!\()/, "").split(/\s+and\s+/).every((part) => {
      if (part.includes(" or ")) {
        return part.split(/\s+or\s+/).some((each) => featureHolds(each.replace(/[()]/g, "")));
      }
      if (/^not\s*\(/.test(part)) {
        return !featureHolds(part.replace(/^not\s*/, "").replace(/[()]/g, ""));
      }
      return part.startsWith("(")
        ? featureHolds(part.replace(/^\(+|\)+$/g, ""))
        : part === "screen" || part === "all";
    });
    return holds !== isNegated;
  }
  drrn.mediaHolds = (text) => text.split(",").some(queryHolds);

  /** Whether the rules of an @ block apply. */
  function blockHolds(head) {
    if (/^@media\b/i.test(head)) return drrn.mediaHolds(head.slice(6));
    return /^@(?:supports|layer|container)\b/i.test(head);
  }

  /** The rules of a sheet, as [selector text, declarations text]. */
  function rulesOf(text, rules) {
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      const char = text[i];
      if (char === '"' || char === "'") i = stringEnd(text, i, char);
      else if (char === "\\") i++;
      else if (char === ";") start = i + 1;
      else if (char === "}") start = i + 1;
      else if (char === "{") {
        const end = blockEnd(text, i);
        const head = text.slice(start, i).trim();
        const body = text.slice(i + 1, end);
        if (!head.startsWith("@")) rules.push([head, body]);
        else if (blockHolds(head)) rulesOf(body, rules);
        i = end;
        start = end + 1;
      }
    }
    return rules;
  }
  function stringEnd(text, from, quote) {
    for (let i = from + 1; i < text.length; i++) {
      if (text[i] === "\\") i++;
      else if (text[i] === quote || text[i] === "\n") return i;
    }
    return text.length;
  }
  function blockEnd(text, from) {
    let depth = 0;
    for (let i = from; i < text.length; i++) {
      const char = text.charCodeAt(i);
      if (char === 34 || char === 39) i = stringEnd(text, i, text[i]);
      else if (char === 92) i++;
      else if (char === 123) depth++;
      else if (char === 125 && --depth === 0) return i;
    }
    return text.length;
  }

  // Text of a sheet → rules {matches, specificity, compound, declarations}.
  const sheetCache = new Map();
  function parseSheet(text) {
    if (sheetCache.has(text)) return sheetCache.get(text);
    const rules = [];
    const withoutComments = text.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, " ").replace(/<!--|-->/g, " ");
    for (const [head, body] of rulesOf(withoutComments, [])) {
      const declarations = drrn.declarations(body);
      if (!declarations.length) continue;
      let selector;
      try {
        selector = drrn.compileSelector(head);
      } catch {
        continue; // a browser ignores a rule with an unknown selector
      }
      for (const { matches, specificity, compound } of selector.list) {
        if (!compound.pseudoElement) rules.push({ matches, specificity, compound, declarations });
      }
    }
    if (sheetCache.size > 200) sheetCache.clear();
    sheetCache.set(text, rules);
    return rules;
  }

  const sheets = (drrn.sheets = new Set()); // all style elements, weakly referenced
  drrn.registerSheet = (element) => sheets.add(new WeakRef(element));
  let checkedVersion = -1;
  let sources = [];
  // Property → {id, class, tag, rest}: candidate rules, indexed by their rightmost key.
  let cascade = new Map();

  function connectedSheets() {
    const elements = [];
    for (const reference of sheets) {
      const element = reference.deref();
      if (!element) sheets.delete(reference);
      else if (!element.disabled && element.isConnected) elements.push(element);
    }
    if (elements.length > 1) {
      elements.sort((one, other) => (one.compareDocumentPosition(other) & 4 ? -1 : 1));
    }
    return elements.filter((element) =>
      /^(?:|text\/css)$/i.test(element.getAttribute("type") ?? "") &&
      drrn.mediaHolds(element.getAttribute("media") ?? ""),
    );
  }

  function refresh() {
    if (checkedVersion === tree.version) return;
    checkedVersion = tree.version;
    const texts = connectedSheets().map((element) =>
      element.textContent + (element.insertedRules ?? ""),
    );
    if (texts.length === sources.length && texts.every((text, index) => text === sources[index])) {
      return;
    }
    sources = texts;
    cascade = new Map();
    let order = 0;
    for (const text of texts) for (const rule of parseSheet(text)) addToCascade(rule, order++);
  }
  const RULE_KEYS = ["id", "className", "tag"];
  function addToCascade(rule, order) {
    for (const [property, value, important] of rule.declarations) {
      let candidates = cascade.get(property);
      if (!candidates) {
        cascade.set(
          property,
          (candidates = { id: new Map(), className: new Map(), tag: new Map(), rest: [] }),
        );
      }
      const kind = RULE_KEYS.find((key) => rule.compound[key]);
      const entry = {
        matches: rule.matches,
        value,
        rank: (important ? 1e12 : 0) + rule.specificity * 1e5 + order,
      };
      if (!kind) candidates.rest.push(entry);
      else if (candidates[kind].has(rule.compound[kind])) {
        candidates[kind].get(rule.compound[kind]).push(entry);
      } else candidates[kind].set(rule.compound[kind], [entry]);
    }
  }

  function better(entries, element, best) {
    for (const entry of entries) {
      if (entry.rank >= best.rank && entry.matches(element, globalThis.document.documentElement)) {
        best = entry;
      }
    }
    return best;
  }
  const unset = { value: "", rank: -1 };

  /** The value of a property by the page's sheets and the element's inline style, or "". */
  drrn.cascadedValue = function (element, property) {
    if (checkedVersion !== tree.version) refresh();
    const attributes = element.attributeMap;
    const inline = attributes.size && attributes.has("style")
      ? element.style[drrn.styleValues].get(property)
      : undefined;
    if (inline && inline[1]) return inline[0];
    const candidates = cascade.get(property);
    let best = inline ? { value: inline[0], rank: 9e11 } : unset;
    if (!candidates) return best.value;
    if (attributes.size) {
      const id = candidates.id.size ? candidates.id.get(attributes.get("id")) : undefined;
      if (id) best = better(id, element, best);
      const text = candidates.className.size ? attributes.get("class") : undefined;
      if (text) {
        for (const name of (element.classWords ??= drrn.words(text))) {
          const entries = candidates.className.get(name);
          if (entries) best = better(entries, element, best);
        }
      }
    }
    const byTag = candidates.tag.get(element.localName);
    if (byTag) best = better(byTag, element, best);
    return candidates.rest.length ? better(candidates.rest, element, best).value : best.value;
  };
})(globalThis.__drrn);
