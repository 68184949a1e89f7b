// The variable that a text box or a question asks for, from attributes, ids or the passage's source.
(function (drrn) {
  "use strict";

  const ATTRIBUTES = ["data-varname", "data-cb-name", "data-cb-text-field-set", "name", "id", "placeholder",
    "aria-label", "title"];
  const SUGARCUBE = /^(?:textbox|textarea|numberbox)-+/; // prefixes of its macros before the variable's name
  const BOX_MACRO = /\(\s*((?:force[-_]?)?input(?:[-_]?box)?)\s*:([^()]*)/gi; // Harlowe's, with its arguments
  const BOUND = /\b2?bind\s+[$_]([\p{L}\p{N}_]+(?:'s\s+[\p{L}\p{N}_]+)*)/iu;
  const DISPLAYED = /\(\s*display\s*:\s*(["'])(.*?)\1\s*\)/gi;
  const PROMPTED = /[$_]([\p{L}\p{N}_]+)\s+to\s+\(\s*prompt\s*:\s*(?:\[([^\]]*)\]|"([^"]*)"|'([^']*)')/giu;
  const DEEPEST = 8; // nesting of passages that display passages

  const words = (text) => String(text || "").replace(/\s+/g, " ").trim();
  const plainMacro = (name) => String(name || "").toLowerCase().replace(/[-_]/g, "");

  function passageSource(name) {
    const all = Array.from(document.querySelectorAll("tw-passagedata"));
    const found = all.find((passage) => passage.getAttribute("name") === name);
    return found ? found.textContent.replace(/<!--[^]*?-->/g, "") : "";
  }

  /** The source of a Harlowe passage, with displayed passages inserted. */
  function sourceOf(name, depth = 0) {
    if (depth > DEEPEST) return "";
    return passageSource(name).replace(DISPLAYED, (_all, _quote, other) => sourceOf(other, depth + 1));
  }

  /** The variable that a box of Harlowe is bound to; only the passage's source names it. */
  function boundVariables(box) {
    const around = box.closest("tw-expression[type=macro]");
    if (!around) return [];
    const kind = plainMacro(around.getAttribute("name"));
    const written = Array.from(sourceOf(drrn.format.passage()).matchAll(BOX_MACRO));
    const alike = written.filter((found) => plainMacro(found[1]) === kind);
    const variables = alike.map((found) => (BOUND.exec(found[2]) || ["", ""])[1]);
    const all = Array.from(document.querySelectorAll("tw-expression[type=macro]"));
    const shown = all.filter((element) => plainMacro(element.getAttribute("name")) === kind);
    if (shown.length === variables.length) return [variables[shown.indexOf(around)]];
    return new Set(variables).size === 1 ? [variables[0]] : []; // some boxes are hidden, so it is unclear which one this is
  }

  /** The variables that Harlowe's (prompt:) sets by this question in the current passage. */
  drrn.promptedVariables = function promptedVariables(question) {
    const asked = words(question);
    const all = Array.from(sourceOf(drrn.format.passage()).matchAll(PROMPTED));
    const same = all.filter((found) => words(found[2] ?? found[3] ?? found[4]) === asked);
    return (same.length || all.length > 1 ? same : all).map((found) => found[1]); // a single question may contain markup
  };

  function dialogNames(box) {
    const dialog = box.closest("tw-dialog");
    if (!dialog) return [];
    const links = dialog.querySelector("tw-dialog-links");
    const said = words(dialog.textContent);
    const question = links ? words(said.slice(0, said.length - words(links.textContent).length)) : said;
    return drrn.questionNames(question);
  }

  function labelsOf(box) {
    const label = box.id ? document.querySelector(`label[for="${box.id.replace(/["\\]/g, "\\$&")}"]`) : null;
    return [label, box.closest("label")].map((element) => (element ? words(element.textContent) : ""));
  }

  /** The names by which [inputs] may answer a text box, most specific first. */
  drrn.namesOf = function namesOf(box) {
    if (!Object.keys(drrn.answers).length) return []; // nothing to look up
    const own = ATTRIBUTES.map((name) => box.getAttribute(name) || "");
    const variables = own.filter((name) => SUGARCUBE.test(name)).map((name) => name.replace(SUGARCUBE, ""));
    const binding = box.closest("variable-binding"); // Chapbook 2
    if (binding) variables.push(binding.getAttribute("name"));
    return [...boundVariables(box), ...variables, ...own, ...labelsOf(box), ...dialogNames(box)];
  };
})(globalThis.__drrn);
