// Default actions of clicks (check boxes, forms, labels, links), and the focus.
(function (drrn) {
  "use strict";

  const form = drrn.elementClass("HTMLFormElement", "form", {
    get elements() {
      return drrn.collection(this, (from) =>
        [...from.querySelectorAll("input, select, textarea, button, fieldset, output")],
      );
    },
    get length() {
      return this.elements.length;
    },
    submit() {},
    requestSubmit(submitter = null) {
      if (this.hasAttribute("novalidate") || this.checkValidity()) submit(this, submitter);
    },
    reset() {
      if (!this.dispatchEvent(new Event("reset", { bubbles: true, cancelable: true }))) return;
      for (const element of this.elements) element.valueState = element.checkedState = undefined;
      for (const option of this.querySelectorAll("option")) option.selectedState = undefined;
      drrn.tree.version++;
    },
    checkValidity() {
      return [...this.elements].every((element) =>
        !element.checkValidity || element.checkValidity(),
      );
    },
    reportValidity() {
      return this.checkValidity();
    },
  });
  drrn.mirror(form.prototype, "action method name target enctype");
  drrn.mirror(form.prototype, "noValidate", "flag");

  function submit(target, submitter) {
    target.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true, submitter }));
  }

  /** The nearest element, from the target upwards, that has a default action. */
  function activatable(target) {
    for (let node = target; node && node.nodeType === 1; node = node.parentNode) {
      const name = node.localName;
      if (
        name === "input" ||
        name === "button" ||
        name === "label" ||
        name === "summary" ||
        name === "option"
      ) {
        return node;
      }
      if ((name === "a" || name === "area") && node.attributeMap.has("href")) return node;
    }
    return null;
  }

  /** Boxes change before the click event, and change back if a listener prevents it. */
  function before(element) {
    if (!element || element.localName !== "input") return null;
    if (element.type === "checkbox") {
      const old = element.checked;
      element.checked = !old;
      return () => (element.checked = old);
    }
    if (element.type !== "radio" || element.checked) return null;
    const name = element.getAttribute("name");
    const isChecked = (other) => other.type === "radio" && other.name === name && other.checked;
    const inputs = name ? [...element.getRootNode().querySelectorAll("input")] : [];
    const old = inputs.find(isChecked);
    element.checked = true;
    return () => {
      element.checked = false;
      if (old) old.checked = true;
    };
  }

  function after(element, event) {
    const name = element.localName;
    if (name === "a" || name === "area") return drrn.follow(element.getAttribute("href"));
    if (name === "summary") {
      const details = element.parentNode;
      if (details && details.localName === "details") {
        details.open = !details.open;
        drrn.clock.later(0, () => details.dispatchEvent(new Event("toggle")));
      }
    } else if (name === "label") {
      const control = element.control;
      if (control && !control.contains(event.target)) {
        control.focus();
        control.click();
      }
    } else if ((name === "button" || name === "input") && !drrn.disabled(element)) {
      const owner = element.form;
      if (!owner) return;
      if (element.type === "submit" || element.type === "image") owner.requestSubmit(element);
      else if (element.type === "reset") owner.reset();
    }
  }

  drrn.clickWithActivation = function (target, event) {
    const element = activatable(target);
    const undo = element === target && !drrn.disabled(element) ? before(element) : null;
    const allowed = drrn.dispatch(target, event);
    if (!element) return allowed;
    if (!allowed) {
      if (undo) undo();
    } else if (undo && element.isConnected) {
      element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
    } else after(element, event);
    return allowed;
  };

  /** Follows a link inside the page: a script, or a fragment. */
  drrn.follow = function (address) {
    const text = (address ?? "").trim();
    if (/^javascript:/i.test(text)) {
      const code = decodeURIComponent(text.slice(11));
      if (!/^\s*(?:void\s*\(?\s*0\s*\)?)?\s*;?\s*$/.test(code)) drrn.runScript(code);
    } else if (
      text.startsWith("#") ||
      drrn.resolve(text).split("#")[0] === globalThis.location.href.split("#")[0]
    ) {
      if (text.includes("#")) globalThis.location.hash = text.slice(text.indexOf("#"));
    } // a link to another site does nothing
  };

  drrn.compileHandler = function (node, source) {
    try {
      const factory = new Function(
        "node",
        `with (node.ownerDocument || document) with (node) return function (event) {${source}\n}`,
      );
      return factory(node);
    } catch (error) {
      drrn.report(error);
      return null;
    }
  };

  /** Runs a text as a script of the page; an error is reported and not rethrown. */
  drrn.runScript = function (code) {
    try {
      (0, eval)(code);
    } catch (error) {
      drrn.report(error);
    }
  };

  let activeElement = null;
  drrn.activeElement = () =>
    (activeElement && activeElement.isConnected ? activeElement : globalThis.document.body);
  const fireFocusEvent = (element, type, bubbles, other) =>
    element.dispatchEvent(
      new FocusEvent(type, { bubbles, composed: true, relatedTarget: other, view: globalThis }),
    );
  const focusable = (element) =>
    element.isConnected &&
    !drrn.disabled(element) &&
    (element.tabIndex >= 0 || element.hasAttribute("tabindex") || element.isContentEditable);

  drrn.focus = function (element, previous = activeElement) {
    if (element && (element === activeElement || !focusable(element))) return;
    if (!element && (previous !== activeElement || !activeElement)) return;
    const old = activeElement && activeElement.isConnected ? activeElement : null;
    activeElement = element;
    drrn.tree.version++;
    if (old) {
      fireFocusEvent(old, "blur", false, element);
      fireFocusEvent(old, "focusout", true, element);
    }
    if (element && activeElement === element) {
      fireFocusEvent(element, "focus", false, old);
      fireFocusEvent(element, "focusin", true, old);
    }
  };
})(globalThis.__drrn);
