// Forms: inputs, selects, text areas, buttons and labels, and their default actions.
(function (drrn) {
  "use strict";
  const make = drrn.elementClass;
  const touch = () => drrn.tree.version++;
  const types = new Set(
    ("button checkbox color date datetime-local email file hidden image month number password radio range reset search submit tel text time " +
      "url week").split(" "));

  const DEFAULT_VALUES = { checkbox: "on", radio: "on", range: "50", color: "#000000" };

  const common = {
    get form() {
      const id = this.getAttribute("form");
      return id ? this.ownerDocument.getElementById(id) : this.closest("form");
    },
    get labels() {
      return drrn.nodeList(
        [...this.ownerDocument.querySelectorAll("label")].filter((label) => label.control === this),
      );
    },
    get validationMessage() {
      return this.customError ?? "";
    },
    get validity() {
      return {
        valid: this.checkValidity(),
        customError: !!this.customError,
        valueMissing: this.required === true && this.value === "",
      };
    },
    get willValidate() {
      return true;
    },
    checkValidity() {
      if (drrn.disabled(this)) return true;
      if (this.customError) return false;
      const isEmpty = this.type === "checkbox" ? !this.checked : this.value === "";
      return !(this.hasAttribute("required") && isEmpty);
    },
    reportValidity() {
      return this.checkValidity();
    },
    setCustomValidity(message) {
      this.customError = String(message);
    },
  };
  const text = {
    select() {},
    setSelectionRange(start, end) {
      this.selectionStart = start;
      this.selectionEnd = end;
    },
    setRangeText() {},
  };

  const input = make("HTMLInputElement", "input", {
    get type() {
      const type = (this.attributeMap.get("type") ?? "text").toLowerCase();
      return types.has(type) ? type : "text";
    },
    set type(value) {
      this.setAttribute("type", value);
    },
    get value() {
      if (this.valueState !== undefined && this.valueState !== null) return this.valueState;
      const value = this.attributeMap.get("value");
      if (value !== undefined) return this.type === "number" && isNaN(Number(value)) ? "" : value;
      return DEFAULT_VALUES[this.type] ?? "";
    },
    set value(value) {
      const string = value === null ? "" : String(value);
      if (/^(?:checkbox|radio|hidden|submit|button|reset|image)$/.test(this.type)) {
        return this.setAttribute("value", string);
      }
      this.valueState = this.type === "number" && (string.trim() === "" || isNaN(Number(string)))
        ? ""
        : string;
      touch();
    },
    get valueAsNumber() {
      return this.value === "" ? NaN : Number(this.value);
    },
    set valueAsNumber(value) {
      this.value = value;
    },
    get checked() {
      return this.checkedState ?? this.attributeMap.has("checked");
    },
    set checked(value) {
      this.checkedState = !!value;
      if (value && this.type === "radio") untickOthers(this);
      touch();
    },
    get files() {
      return [];
    },
    get list() {
      return this.ownerDocument.getElementById(this.getAttribute("list") ?? "");
    },
    stepUp(count = 1) {
      this.value = (this.valueAsNumber || 0) + count * (Number(this.step) || 1);
    },
    stepDown(count = 1) {
      this.stepUp(-count);
    },
    cloneNode(deep) {
      const copy = Node.prototype.cloneNode.call(this, deep);
      if (this.checkedState !== undefined) copy.checkedState = this.checkedState;
      if (this.valueState !== undefined) copy.valueState = this.valueState;
      return copy;
    },
  });
  drrn.mirror(
    input.prototype,
    "name placeholder defaultValue=value min max step pattern accept alt autocomplete src",
  );
  drrn.mirror(
    input.prototype,
    "disabled readOnly required multiple defaultChecked=checked",
    "flag",
  );
  drrn.mirror(input.prototype, "maxLength size", "number", -1);
  Object.assign(input.prototype, { indeterminate: false, selectionStart: 0, selectionEnd: 0 });

  function untickOthers(radio) {
    const name = radio.getAttribute("name");
    if (!name) return;
    for (const other of radio.getRootNode().querySelectorAll("input")) {
      if (
        other !== radio &&
        other.type === "radio" &&
        other.getAttribute("name") === name &&
        other.form === radio.form
      ) {
        other.checkedState = false;
      }
    }
  }

  const area = make("HTMLTextAreaElement", "textarea", {
    get type() {
      return "textarea";
    },
    get value() {
      return this.valueState ?? this.textContent;
    },
    set value(value) {
      this.valueState = value === null ? "" : String(value);
      touch();
    },
    get defaultValue() {
      return this.textContent;
    },
    set defaultValue(value) {
      this.textContent = value;
    },
    get textLength() {
      return this.value.length;
    },
  });
  drrn.mirror(area.prototype, "name placeholder wrap");
  drrn.mirror(area.prototype, "disabled readOnly required", "flag");
  drrn.mirror(area.prototype, "rows cols maxLength", "number", -1);
  Object.assign(area.prototype, { selectionStart: 0, selectionEnd: 0 });

  const option = make("HTMLOptionElement", "option", {
    get text() {
      return this.textContent.replace(/[ \t\n\f\r]+/g, " ").trim();
    },
    set text(value) {
      this.textContent = value;
    },
    get value() {
      return this.attributeMap.get("value") ?? this.text;
    },
    set value(value) {
      this.setAttribute("value", value);
    },
    get label() {
      return this.getAttribute("label") ?? this.text;
    },
    set label(value) {
      this.setAttribute("label", value);
    },
    get selected() {
      const select = this.closest("select");
      if (!select || select.multiple) {
        return this.selectedState ?? this.attributeMap.has("selected");
      }
      return select.selectedOption() === this;
    },
    set selected(value) {
      const select = this.closest("select");
      if (value && select && !select.multiple) {
        for (const other of select.optionList()) other.selectedState = false;
      }
      this.selectedState = !!value;
      touch();
    },
    get index() {
      return this.closest("select")?.optionList().indexOf(this) ?? 0;
    },
    get form() {
      return this.closest("form");
    },
  });
  drrn.mirror(option.prototype, "disabled defaultSelected=selected", "flag");
  drrn.expose("Option", function Option(label = "", value, defaultSelected, selected) {
    const element = globalThis.document.createElement("option");
    element.text = label;
    if (value !== undefined) element.value = value;
    if (defaultSelected) element.setAttribute("selected", "");
    if (selected) element.selected = true;
    return element;
  });
  make("HTMLOptGroupElement", "optgroup");
  drrn.mirror(HTMLOptGroupElement.prototype, "label");
  drrn.mirror(HTMLOptGroupElement.prototype, "disabled", "flag");

  const select = make("HTMLSelectElement", "select", {
    get type() {
      return this.multiple ? "select-multiple" : "select-one";
    },
    optionList() {
      return drrn.descendants(this).filter((element) => element.localName === "option");
    },
    /** The selected option: by script, else by attribute, else the first that is not disabled. */
    selectedOption() {
      if (this.noSelection) return null;
      const options = this.optionList();
      const chosen =
        options.findLast((each) => each.selectedState) ??
        options.findLast((each) =>
          each.selectedState === undefined && each.attributeMap.has("selected"),
        );
      return chosen ?? options.find((each) => !drrn.disabled(each)) ?? null;
    },
    get options() {
      const collection = drrn.collection(this, (from) => from.optionList());
      Object.defineProperty(collection, "add", { value: (item, before) => this.add(item, before) });
      Object.defineProperty(collection, "selectedIndex", {
        get: () => this.selectedIndex,
        set: (index) => (this.selectedIndex = index),
      });
      return collection;
    },
    get selectedOptions() {
      return drrn.collection(this, (from) => from.optionList().filter((each) => each.selected));
    },
    get length() {
      return this.optionList().length;
    },
    get selectedIndex() {
      return this.optionList().findIndex((each) => each.selected);
    },
    set selectedIndex(index) {
      const options = this.optionList();
      options.forEach((each, position) => (each.selectedState = position === Number(index)));
      this.noSelection = !options[index];
      touch();
    },
    get value() {
      return this.optionList().find((each) => each.selected)?.value ?? "";
    },
    set value(value) {
      this.selectedIndex = this.optionList().findIndex((each) => each.value === String(value));
    },
    add(item, before = null) {
      this.insertBefore(
        item,
        typeof before === "number" ? (this.optionList()[before] ?? null) : before,
      );
    },
    item(index) {
      return this.optionList()[index] ?? null;
    },
    remove(index) {
      if (index === undefined) drrn.detach(this);
      else this.optionList()[index]?.remove();
    },
  });
  drrn.mirror(select.prototype, "name autocomplete");
  drrn.mirror(select.prototype, "disabled multiple required", "flag");
  drrn.mirror(select.prototype, "size", "number");

  const button = make("HTMLButtonElement", "button", {
    get type() {
      const type = (this.getAttribute("type") ?? "submit").toLowerCase();
      return type === "button" || type === "reset" ? type : "submit";
    },
    set type(value) {
      this.setAttribute("type", value);
    },
  });
  drrn.mirror(button.prototype, "name value");
  drrn.mirror(button.prototype, "disabled", "flag");
  make("HTMLFieldSetElement", "fieldset");
  drrn.mirror(HTMLFieldSetElement.prototype, "name");
  drrn.mirror(HTMLFieldSetElement.prototype, "disabled", "flag");
  make("HTMLOutputElement", "output", {
    get value() { return this.textContent; },
    set value(value) { this.textContent = value; },
  });
  make("HTMLProgressElement", "progress");
  drrn.mirror(HTMLProgressElement.prototype, "value max", "number");
  make("HTMLMeterElement", "meter");
  drrn.mirror(HTMLMeterElement.prototype, "value max min", "number");
  make("HTMLLabelElement", "label", {
    get control() {
      if (this.htmlFor) return this.ownerDocument.getElementById(this.htmlFor);
      return this.querySelector(
        "input:not([type=hidden]), select, textarea, button, meter, output, progress",
      );
    },
    get form() {
      return this.closest("form");
    },
  });
  drrn.mirror(HTMLLabelElement.prototype, "htmlFor=for");
  for (const Class of [input, area, select, button, HTMLFieldSetElement]) {
    drrn.mix(Class.prototype, common);
  }
  for (const Class of [input, area]) drrn.mix(Class.prototype, text);
})(globalThis.__drrn);
