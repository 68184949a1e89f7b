// The settings of a run as a form with defaults; only changed values are sent.

import { field, h } from "./dom.js";

/**
 * The fields of the settings: the first ones, and the others folded by groups; `changes()` returns
 * the values that differ from the defaults.
 */
export function settingsForm(settings) {
  const controls = settings.map((setting) => [setting, control(setting)]);
  const fieldsOf = (group) =>
    controls
      .filter(([setting]) => setting.group === group)
      .map(([setting, input]) => fieldOf(setting, input));
  const groups = [...new Set(settings.map((setting) => setting.group))];
  const folded = groups.filter((group) => group);
  return {
    first: fieldsOf(""),
    more: h(
      "details",
      { class: "more-settings" },
      h("summary", {}, "Other settings"),
      folded.map((group) =>
        h(
          "details",
          {},
          h("summary", {}, group),
          h("div", { class: "settings" }, fieldsOf(group)),
        ),
      ),
    ),
    changes: () =>
      Object.fromEntries(
        controls
          .map(([setting, input]) => [setting.name, valueOf(setting, input), setting.default])
          .filter(([, value, standard]) => value !== undefined && !same(value, standard))
          .map(([name, value]) => [name, value]),
      ),
  };
}

function control(setting) {
  const id = `setting-${setting.name}`;
  if (setting.kind === "bool") {
    return h("input", { type: "checkbox", id, checked: Boolean(setting.default) });
  }
  if (setting.choices?.length) {
    const options = [...(setting.optional ? [""] : []), ...setting.choices];
    return h(
      "select",
      { id },
      options.map((choice) =>
        h(
          "option",
          { value: choice, selected: choice === (setting.default ?? "") },
          choice || "none",
        ),
      ),
    );
  }
  const attributes = {
    id,
    value: setting.default ?? "",
    placeholder: setting.optional ? "none" : null,
  };
  if (setting.kind === "str") return h("input", { type: "text", ...attributes });
  return h("input", {
    type: "number",
    ...attributes,
    step: setting.kind === "int" ? "1" : "any",
    min: setting.least,
    max: setting.most,
    required: !setting.optional,
  });
}

function fieldOf(setting, input) {
  const words = setting.label;
  if (setting.kind !== "bool") return field(words, input, setting.help);
  const help = h("p", { class: "help", id: `${input.id}-help` }, setting.help);
  input.setAttribute("aria-describedby", help.id);
  return h("div", { class: "field" }, h("label", { class: "toggle" }, input, words), help);
}

function valueOf(setting, input) {
  if (setting.kind === "bool") return input.checked;
  const text = input.value.trim();
  if (text === "") return setting.optional ? null : undefined;
  return setting.kind === "int" || setting.kind === "float" ? Number(text) : text;
}

function same(value, standard) {
  return (
    value === standard ||
    (value === null && standard === undefined) ||
    (value === "" && standard === null)
  );
}
