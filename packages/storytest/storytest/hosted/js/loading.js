// Loads a page: parses up to each script, which the host runs; then fires the load events.
(function (drrn) {
  "use strict";
  let parser = null;
  let modules = []; // they run after the whole page is parsed

  drrn.loadPage = function (markup) {
    parser = globalThis.document.parser = drrn.documentParser(globalThis.document, markup);
    modules = [];
  };

  /** The text of the next script, or null at the end of the page; skips external scripts. */
  drrn.nextScript = function () {
    const document = globalThis.document;
    document.currentScript = null;
    for (let script = parser && parser.next(); script; script = parser.next()) {
      const code = script.textContent;
      if (script.hasAttribute("src") || code.trim() === "" || !drrn.isJavaScript(script)) continue;
      if (script.getAttribute("type") === "module") modules.push(script);
      else return startScript(script, code);
    }
    if (parser) document.readyState = "interactive";
    parser = document.parser = null;
    const script = modules.shift();
    return script
      ? startScript(null, `(function () { "use strict"; ${script.textContent}\n})();`)
      : null;
  };
  function startScript(script, code) {
    globalThis.document.currentScript = script;
    return code;
  }

  /** A script of the page threw in the host, which knows only the message. */
  drrn.scriptThrew = function (message) {
    const [, name, words] = /^(\w*Error): ([^]*)/.exec(message) || [null, "Error", message];
    drrn.report(Object.assign(new Error(words), { name }));
  };

  /** Fire the events that report that the page is complete. */
  drrn.arrive = function () {
    if (drrn.chance) drrn.chance.draws = 0; // draws of the engine itself while it was loaded
    const document = globalThis.document;
    document.dispatchEvent(new Event("readystatechange"));
    document.dispatchEvent(new Event("DOMContentLoaded", { bubbles: true }));
    document.readyState = "complete";
    document.dispatchEvent(new Event("readystatechange"));
    drrn.dispatch(globalThis, new Event("load"));
    drrn.dispatch(globalThis, new PageTransitionEvent("pageshow"));
  };
  drrn.passForNative();
})(globalThis.__drrn);
