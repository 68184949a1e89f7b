// The pseudo-classes of selectors, from :first-child to :has().
(function (drrn) {
  "use strict";

  const sibling = (direction, sameType) => (element) => {
    for (let node = element[direction]; node; node = node[direction]) {
      if (node.nodeType === 1 && (!sameType || node.localName === element.localName)) return false;
    }
    return true;
  };
  const both = (one, other) => (element) => one(element) && other(element);
  const first = sibling("previousSibling", false);
  const last = sibling("nextSibling", false);
  const firstOfType = sibling("previousSibling", true);
  const lastOfType = sibling("nextSibling", true);
  const controls = new Set([
    "input", "button", "select", "textarea", "option", "optgroup", "fieldset",
  ]);
  const isLink = (element) =>
    (element.localName === "a" || element.localName === "area") && element.attributeMap.has("href");
  const never = () => false;

  function disabled(element) {
    if (!controls.has(element.localName)) return false;
    if (element.attributeMap.has("disabled")) return true;
    if (
      element.localName === "option" &&
      element.parentNode &&
      element.parentNode.localName === "optgroup"
    ) {
      return disabled(element.parentNode);
    }
    for (let node = element.parentNode; node && node.nodeType === 1; node = node.parentNode) {
      if (node.localName === "fieldset" && node.attributeMap.has("disabled")) return true;
    }
    return false;
  }
  drrn.disabled = disabled;

  const editable = (element) => {
    if (element.localName === "textarea" || element.localName === "input") {
      return !element.attributeMap.has("readonly") && !disabled(element);
    }
    return (
      element.attributeMap.has("contenteditable") &&
      element.attributeMap.get("contenteditable") !== "false"
    );
  };
  const required = (element) => element.attributeMap.has("required");
  const isField = (element) =>
    element.localName === "input" ||
    element.localName === "select" ||
    element.localName === "textarea";
  const active = () => globalThis.document.activeElement;

  const simple = {
    "first-child": first,
    "last-child": last,
    "only-child": both(first, last),
    "first-of-type": firstOfType,
    "last-of-type": lastOfType,
    "only-of-type": both(firstOfType, lastOfType),
    root: (element) => element.parentNode !== null && element.parentNode.nodeType === 9,
    scope: (element, scope) => element === scope,
    empty(element) {
      for (let child = element.firstChild; child; child = child.nextSibling) {
        if (child.nodeType === 1 || (child.nodeType === 3 && child.data !== "")) return false;
      }
      return true;
    },
    checked(element) {
      if (element.localName === "option") return element.selected;
      if (element.localName !== "input" || !element.checked) return false;
      return /^(?:checkbox|radio)$/.test(element.type);
    },
    disabled,
    enabled: (element) => controls.has(element.localName) && !disabled(element),
    link: isLink,
    "any-link": isLink,
    focus: (element) => element === active() && element.localName !== "body",
    "focus-visible": (element) => element === active() && element.localName !== "body",
    "focus-within": (element) =>
      active() !== globalThis.document.body && element.contains(active()),
    required: (element) => isField(element) && required(element),
    optional: (element) =>
      (isField(element) && !required(element)) || element.localName === "button",
    "read-write": editable,
    "read-only": (element) => !editable(element),
    "placeholder-shown": (element) =>
      element.attributeMap.has("placeholder") && element.value === "",
    defined: (element) =>
      !element.localName.includes("-") || drrn.customNames.has(element.localName),
    target: (element) => element.id !== "" && globalThis.location.hash === "#" + element.id,
    indeterminate: (element) => element.indeterminate === true,
    valid: (element) => isField(element),
    modal: (element) => element.localName === "dialog" && element.isModal === true,
    open: (element) => element.attributeMap.has("open"),
    "-webkit-any-link": isLink,
    default: never, invalid: never, "in-range": never, "out-of-range": never, hover: never,
    active: never, visited: never, fullscreen: never, autofill: never, "-webkit-autofill": never,
    "user-invalid": never, "popover-open": never,
  };

  /** Tests an+b against an index that starts at one. */
  function nth(formula) {
    const text = formula.toLowerCase().replace(/\s+/g, "");
    if (text === "odd") return (index) => index % 2 === 1;
    if (text === "even") return (index) => index % 2 === 0;
    const match = /^([+-]?\d*)n([+-]\d+)?$/.exec(text);
    if (!match) return /^[+-]?\d+$/.test(text) ? (index) => index === Number(text) : null;
    const step = match[1] === "" || match[1] === "+" ? 1 : match[1] === "-" ? -1 : Number(match[1]);
    const offset = Number(match[2] || 0);
    return (index) =>
      (step === 0
        ? index === offset
        : (index - offset) % step === 0 && (index - offset) / step >= 0);
  }

  function siblingIndex(element, direction, counts) {
    let count = 1;
    for (let node = element[direction]; node; node = node[direction]) {
      if (node.nodeType === 1 && counts(node, element)) count++;
    }
    return count;
  }

  function nthClass(argument, direction, sameType) {
    const [formula, filterText] = argument.split(/\s+of\s+/);
    const test = nth(formula);
    if (!test) return null;
    const filter = filterText ? drrn.readSelector(filterText).matches : null;
    let counts = () => true;
    if (sameType) counts = (node, element) => node.localName === element.localName;
    else if (filter) counts = (node) => filter(node, node);
    return (element) =>
      (!filter || filter(element, element)) && test(siblingIndex(element, direction, counts));
  }

  function hasClass(argument) {
    const { matches } = drrn.readSelector(argument, true);
    const sideways = /(?:^|,)\s*[+~]/.test(argument);
    return (element) => {
      const root = sideways && element.parentNode ? element.parentNode : element;
      return drrn.descendants(root).some((node) => matches(node, element));
    };
  }

  /** A pseudo-class as {test, specificity}; null if unknown, for which jQuery has a matcher. */
  drrn.pseudoClass = function (name, argument) {
    const result = (test, specificity = 100) => (test ? { test, specificity } : null);
    if (argument === null) return Object.hasOwn(simple, name) ? result(simple[name]) : null;
    if (
      name === "not" ||
      name === "is" ||
      name === "where" ||
      name === "matches" ||
      name === "-webkit-any"
    ) {
      const inner = drrn.readSelector(argument);
      const test = name === "not"
        ? (element, scope) => !inner.matches(element, scope)
        : inner.matches;
      return result(test, name === "where" ? 0 : inner.specificity);
    }
    if (name === "has") {
      return result(hasClass(argument), drrn.readSelector(argument, true).specificity);
    }
    if (name === "nth-child") return result(nthClass(argument, "previousSibling", false));
    if (name === "nth-last-child") return result(nthClass(argument, "nextSibling", false));
    if (name === "nth-of-type") return result(nthClass(argument, "previousSibling", true));
    if (name === "nth-last-of-type") return result(nthClass(argument, "nextSibling", true));
    if (name === "lang") {
      return result((element) =>
        element.closest("[lang]")?.getAttribute("lang").startsWith(argument) ?? false,
      );
    }
    if (name === "dir") return result(() => argument === "ltr");
    return null;
  };
})(globalThis.__drrn);
