// The actions of a page: links, buttons, boxes and choices, and how each is pressed.
(function (drrn) {
  "use strict";

  const BOXES = new Set([
    "text", "search", "email", "url", "tel", "password", "number", "range", "date", "",
  ]);
  // Harlowe's classes for elements that react to a pointer, and the events they listen for.
  const ENCHANTMENTS = {
    "enchantment-link": "click", "enchantment-clickblock": "anywhere",
    "enchantment-mouseover": "over", "enchantment-mouseoverblock": "over",
    "enchantment-mouseout": "out", "enchantment-mouseoutblock": "out",
    "enchantment-dblclick": "twice", "enchantment-dblclickblock": "twice",
  };
  const OVER = ["mouseover", "mouseenter"];
  const OUT = ["mouseout", "mouseleave"];
  const POINTER = {
    over: OVER,
    out: OUT,
    twice: ["dblclick"],
  };
  // An element that contains one of these is not a link itself.
  const CONTROLS = "a,button,input,select,textarea,tw-link,.enchantment-link";
  // Elements that listen for clicks on the links inside them.
  const CONTAINERS =
    "body,main,article,section,tw-story,tw-passage,.passage,#passages,#story,#page,#main";
  const TARGETS = ["data-passage", "passage-name", "data-cb-go", "data-linkname", "to"];
  // Elements that listen for an event of the pointer, by its type.
  const listening = Object.fromEntries(
    ["click", "dragstart", "drop", ...OVER, ...OUT].map((type) => [type, new WeakSet()]),
  );

  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(type, listener, options) {
    if (listening[type]) listening[type].add(this ?? globalThis);
    return listen.call(
      this === undefined || this === null ? globalThis : this,
      type,
      listener,
      options,
    );
  };

  /**
   * Whether the page's jQuery listens for clicks on such elements at an ancestor:
   * `$(document).on("click", ".door", …)`.
   */
  function hasDelegatedHandler(element) {
    const data = globalThis.jQuery && globalThis.jQuery._data;
    if (typeof data !== "function") return false;
    return [document, document.documentElement, document.body].some((owner) => {
      const events = data(owner, "events");
      const handlers = (events && events.click) || [];
      return handlers.some((handler) =>
        handler.selector && matchesSelector(element, handler.selector),
      );
    });
  }

  function matchesSelector(element, selector) {
    try {
      return element.matches(selector);
    } catch {
      return false; // a selector that only jQuery knows
    }
  }

  /** Whether an element has a listener of its own for one of some events. */
  const hears = (element, ...types) => types.some((type) =>
    listening[type].has(element) ||
    typeof element[`on${type}`] === "function" ||
    element.hasAttribute(`on${type}`));

  const handlesClicks = (element) => hears(element, "click") || hasDelegatedHandler(element);

  const dropTargets = () =>
    Array.from(document.body.querySelectorAll("*")).filter((element) => hears(element, "drop"));

  /** How a curious player moves the pointer over or out of an element, or drags it. */
  function pointerKind(element) {
    if (hears(element, "dragstart") || element.getAttribute("draggable") === "true") {
      return dropTargets().length ? "drag" : null;
    }
    if (hears(element, ...OVER)) return "over";
    return hears(element, ...OUT) ? "out" : null;
  }

  /** Drag an element to one of the places that take it, picked by the key of the step. */
  function drag(element) {
    const data = {};
    const dataTransfer = {
      setData: (type, value) => { data[type] = String(value); },
      getData: (type) => data[type] ?? "",
      items: [], files: [], types: [],
    };
    const targets = dropTargets();
    const target = targets[drrn.chance.key() % targets.length];
    const steps = [[element, "dragstart"], [target, "dragenter"], [target, "dragover"],
      [target, "drop"], [element, "dragend"]];
    for (const [place, type] of steps) {
      const event = new DragEvent(type, { bubbles: true, cancelable: true });
      Object.defineProperty(event, "dataTransfer", { value: dataTransfer });
      place.dispatchEvent(event);
    }
  }

  function anchorActs(element) {
    const address = (element.getAttribute("href") || "").trim();
    const script = /^javascript:/i.test(address);
    // A link to another site is not part of the story.
    if (address && !script && !address.startsWith("#")) return false;
    if (handlesClicks(element) || TARGETS.some((name) => element.hasAttribute(name))) return true;
    if (element.hasAttribute("data-cb-back") || element.getAttribute("role") === "link") {
      return true;
    }
    return script && !/^javascript:\s*(void\b.*)?;?$/i.test(address);
  }

  function inputKind(element) {
    const type = (element.getAttribute("type") || "").toLowerCase();
    if (type === "checkbox") return "check";
    if (type === "radio") return element.checked ? null : "check";
    if (type === "button" || type === "submit" || type === "image") return "click";
    return BOXES.has(type) ? "box" : null;
  }

  /** The data that jQuery stores for an element; there is no other access if jQuery is private. */
  function dataOf(element, name) {
    for (const key of Object.keys(element)) {
      const data = key.startsWith("jQuery") ? element[key] : null;
      if (data && data[name] !== undefined) return data[name];
    }
    return undefined;
  }

  function otherKind(element) {
    if (element.hasAttribute("class")) {
      for (const name of element.classList) if (ENCHANTMENTS[name]) return ENCHANTMENTS[name];
    }
    const role = element.getAttribute("role");
    const clicks = handlesClicks(element) || role === "button" || role === "link";
    const kind = clicks ? "click" : drrn.curious && drrn.isHasty && pointerKind(element);
    if (!kind) return null;
    return element.matches(CONTAINERS) || element.querySelector(CONTROLS) ? null : kind;
  }

  /** How an element is used, from "click" to "box"; null if it is not an action. */
  drrn.kindOf = function kindOf(element) {
    if (element.disabled || element.getAttribute("aria-disabled") === "true") return null;
    switch (element.localName) {
      case "tw-link": return "click";
      case "a": return anchorActs(element) ? "click" : null;
      case "button": return "click";
      case "summary":
        return element.parentNode.localName === "details" ? "click" : otherKind(element);
      case "input": return inputKind(element);
      case "select": return "select";
      case "textarea": return "box";
      case "label":
        return element.querySelector("input[type=checkbox],input[type=radio]") ? "label" : null;
      default: return otherKind(element);
    }
  };

  /** The element that a click anywhere on the page reaches; null if nothing listens for clicks. */
  drrn.anywhere = function anywhere() {
    const target = document.querySelector(".passage,tw-passage") || document.body;
    const listens = (node) => listening.click.has(node) || typeof node.onclick === "function";
    for (let node = target; node; node = node.parentNode) if (listens(node)) return target;
    return listens(globalThis) ? target : null;
  };

  /** The passage that a link names, if any. */
  drrn.targetOf = function targetOf(element) {
    for (const name of TARGETS) {
      const target = element.getAttribute(name);
      if (target) return target;
    }
    const passageName =
      element.localName === "tw-link" &&
      dataOf(element.parentNode, "linkPassageName");
    return typeof passageName === "string" ? passageName : "";
  };

  function fire(element, type, Kind, settings) {
    element.dispatchEvent(new Kind(type, { bubbles: true, cancelable: true, ...settings }));
  }

  function choose(select, option) {
    select.value = option.value;
    if (select.options[select.selectedIndex] !== option) option.selected = true;
    fire(select, "input", Event);
    fire(select, "change", Event);
  }

  function enter(box) {
    const key = { key: "Enter", code: "Enter", keyCode: 13, which: 13, charCode: 13 };
    for (const type of ["keydown", "keypress", "keyup"]) {
      const event = new KeyboardEvent(type, {
        bubbles: true,
        cancelable: true,
        key: "Enter",
        code: "Enter",
      });
      // Older engines read the key's number, which not every constructor accepts.
      for (const name of ["keyCode", "which"]) {
        Object.defineProperty(event, name, { value: key[name] });
      }
      box.dispatchEvent(event);
    }
  }

  /** Perform an action of the page as a player does. */
  drrn.use = function use(action) {
    const { element, kind } = action;
    if (kind === "select") choose(element, action.option);
    else if (kind === "wait") return;
    else if (kind === "enter") enter(element);
    else if (kind === "drag") drag(element);
    else if (POINTER[kind]) {
      for (const type of POINTER[kind]) {
        fire(element, type, MouseEvent, { bubbles: !/(enter|leave)$/.test(type) });
      }
    } else element.click();
  };

  const answeredBoxes = new WeakSet();

  function write(box, answer) {
    box.focus();
    box.value = answer;
    fire(box, "input", Event);
    fire(box, "keyup", KeyboardEvent);
    fire(box, "change", Event);
  }

  /** The variables that writing into a box has set; identifies a box without a name. */
  function variablesSetBy(box, answer) {
    const hasAnswers = Object.keys(drrn.answers).length > 0;
    const before = hasAnswers ? drrn.format.variables() : {};
    write(box, answer);
    const after = hasAnswers ? drrn.format.variables() : {};
    return Object.keys(after)
      .filter((name) => String(after[name]) === answer && String(before[name]) !== answer);
  }

  /** The words that a curious player typed since the last click, by box or question. */
  drrn.typedWords = new Map();

  const hasNoAnswer = (names) => drrn.answer(names, "") === drrn.answer([], "");

  /** A word for a question without an answer, picked by the key of the step; "" for none. */
  drrn.wordFor = function wordFor(names, number = 0, size = 0) {
    const words = (drrn.curious || []).filter((word) => !size || word.length === size);
    const pick = Math.floor(drrn.chance.key() / 12);
    const isPlain = drrn.chance.key() % 4 === 0; // then the answer is the usual one
    if (!words.length || isPlain || !hasNoAnswer(names)) return "";
    const word = words[(pick + number) % words.length];
    // A story may ask for a word and a name, such as "call Ann".
    return drrn.chance.key() % 5 || size ? word : `${word} ${words[pick % 7919 % words.length]}`;
  };

  /**
   * Type words that the story compares with, one into each box, or a letter into each box that
   * takes no more; return the number of boxes.
   */
  drrn.tryWords = function tryWords(boxes) {
    if (!drrn.curious || !boxes.length) return 0;
    const sizes = boxes.map((box) => Number(box.getAttribute("maxlength")) || 0);
    const isSplit = boxes.length > 1 && sizes.every((size) => size === 1);
    let count = 0;
    boxes.forEach((box, index) => {
      if (["number", "range"].includes(box.getAttribute("type"))) return;
      const word = drrn.wordFor(drrn.namesOf(box), isSplit ? 0 : index, isSplit ? sizes.length : 0);
      if (!word) return;
      write(box, isSplit ? word[index] : word);
      drrn.typedWords.set(isSplit ? boxes[0] : box, word);
      count += 1;
    });
    return count;
  };

  /** Write the answer into a text box, once; true if something was written. */
  drrn.fill = function fill(box) {
    if (answeredBoxes.has(box)) return false;
    answeredBoxes.add(box);
    const numeric = ["number", "range"].includes(box.getAttribute("type"));
    const suggestion = box.value || (numeric ? box.getAttribute("min") || "1" : "");
    const answer = drrn.answer(drrn.namesOf(box), suggestion);
    if (answer === box.value) return false;
    const second = drrn.answer(variablesSetBy(box, answer), answer);
    if (second !== answer && box.isConnected && answer === drrn.answer([], suggestion)) {
      write(box, second);
    }
    return true;
  };
})(globalThis.__drrn);
