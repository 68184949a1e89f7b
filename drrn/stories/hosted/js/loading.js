// Loading a page: its markup read up to each script, which the host runs as a script of its own; then the events of arrival.
(function (drrn) {
  "use strict";
  let parser = null;
  let modules = []; // they run when the whole page has been read

  drrn.loadPage = function (markup) {
    parser = globalThis.document.parser = drrn.documentParser(globalThis.document, markup);
    modules = [];
  };

  /** The text of the next script to run, or null when the page has been read; scripts from elsewhere are left out. */
  drrn.nextScript = function () {
    const document = globalThis.document;
    document.currentScript = null;
    for (let script = parser && parser.next(); script; script = parser.next()) {
      const code = script.textContent;
      if (script.hasAttribute("src") || code.trim() === "" || !drrn.isJavaScript(script)) continue;
      if (script.getAttribute("type") === "module") modules.push(script);
      else return begun(script, code);
    }
    if (parser) document.readyState = "interactive";
    parser = document.parser = null;
    const script = modules.shift();
    return script ? begun(null, `(function () { "use strict"; ${script.textContent}\n})();`) : null;
  };
  function begun(script, code) {
    globalThis.document.currentScript = script;
    return code;
  }

  /** A script of the page threw while it was being run by the host, which knows only the message. */
  drrn.scriptThrew = function (message) {
    const [, name, words] = /^(\w*Error): ([^]*)/.exec(message) || [null, "Error", message];
    drrn.report(Object.assign(new Error(words), { name }));
  };

  /** The events that tell a page that it is complete. */
  drrn.arrive = function () {
    if (drrn.chance) drrn.chance.draws = 0; // what the engine drew for itself while it was read
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
