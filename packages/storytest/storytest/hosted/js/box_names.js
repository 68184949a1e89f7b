// The variable that a text box asks for, from attributes, ids or the passage's source.
(function (drrn) {
  "use strict";

  const ATTRIBUTES = ["data-varname", "data-cb-name", "data-cb-text-field-set", "name", "id", "placeholder",
    "aria-label", "title"];
  // Prefixes that SugarCube's macros put before the variable's name.
  const SUGARCUBE = /^(?:textbox|textarea|numberbox)-+/;
  // Harlowe's macros for text boxes, with their arguments.
  const BOX_MACRO = /\(\s*((?:force[-_]?)?input(?:[-_]?box)?)\s*:([^()]*)/gi;
  const BINDING = /\b2?bind\s+[$_]([\p{L}\p{N}_]+(?:'s\s+[\p{L}\p{N}_]+)*)/iu;
  const DISPLAY_MACRO = /\(\s*display\s*:\s*(["'])(.*?)\1\s*\)/gi;
  const PROMPT_MACRO =
    /[$_]([\p{L}\p{N}_]+)\s+to\s+\(\s*prompt\s*:\s*(?:\[([^\]]*)\]|"([^"]*)"|'([^']*)')/giu;
  const MAX_DEPTH = 8; // nesting of passages that display passages

  const words = (text) => String(text || "").replace(/\s+/g, " ").trim();
  const plainMacro = (name) => String(name || "").toLowerCase().replace(/[-_]/g, "");

  function passageSource(name) {
    const all = Array.from(document.querySelectorAll("tw-passagedata"));
    const data = all.find((passage) => passage.getAttribute("name") === name);
    return data ? data.textContent.replace(/<!--[^]*?-->/g, "") : "";
  }

  /** The source of a Harlowe passage, with displayed passages inserted. */
  function sourceOf(name, depth = 0) {
    if (depth > MAX_DEPTH) return "";
    return passageSource(name).replace(DISPLAY_MACRO, (_all, _quote, other) =>
      sourceOf(other, depth + 1),
    );
  }

  /** The variable that a box of Harlowe is bound to; only the passage's source names it. */
  function boundVariables(box) {
    const around = box.closest("tw-expression[type=macro]");
    if (!around) return [];
    const kind = plainMacro(around.getAttribute("name"));
    const macros = Array.from(sourceOf(drrn.format.passage()).matchAll(BOX_MACRO));
    const sameKind = macros.filter((match) => plainMacro(match[1]) === kind);
    const variables = sameKind.map((match) => (BINDING.exec(match[2]) || ["", ""])[1]);
    const all = Array.from(document.querySelectorAll("tw-expression[type=macro]"));
    const elements = all.filter((element) => plainMacro(element.getAttribute("name")) === kind);
    if (elements.length === variables.length) return [variables[elements.indexOf(around)]];
    // Some boxes are hidden, so it is unclear which one this is.
    return new Set(variables).size === 1 ? [variables[0]] : [];
  }

  /** The variables that Harlowe's (prompt:) sets by this question in the current passage. */
  drrn.promptVariables = function promptVariables(question) {
    const text = words(question);
    const all = Array.from(sourceOf(drrn.format.passage()).matchAll(PROMPT_MACRO));
    const same = all.filter((match) => words(match[2] ?? match[3] ?? match[4]) === text);
    // A single question may contain markup.
    return (same.length || all.length > 1 ? same : all).map((match) => match[1]);
  };

  function dialogNames(box) {
    const dialog = box.closest("tw-dialog");
    if (!dialog) return [];
    const links = dialog.querySelector("tw-dialog-links");
    const text = words(dialog.textContent);
    const question = links
      ? words(text.slice(0, text.length - words(links.textContent).length))
      : text;
    return drrn.questionNames(question);
  }

  function labelsOf(box) {
    const label = box.id
      ? document.querySelector(`label[for="${box.id.replace(/["\\]/g, "\\$&")}"]`)
      : null;
    return [label, box.closest("label")].map((element) =>
      (element ? words(element.textContent) : ""),
    );
  }

  /** The names by which [inputs] may answer a text box, most specific first. */
  drrn.namesOf = function namesOf(box) {
    if (!Object.keys(drrn.answers).length) return []; // nothing to look up
    const own = ATTRIBUTES.map((name) => box.getAttribute(name) || "");
    const variables = own.filter((name) => SUGARCUBE.test(name)).map((name) =>
      name.replace(SUGARCUBE, ""),
    );
    const binding = box.closest("variable-binding"); // Chapbook 2
    if (binding) variables.push(binding.getAttribute("name"));
    return [...boundVariables(box), ...variables, ...own, ...labelsOf(box), ...dialogNames(box)];
  };
})(globalThis.__drrn);
