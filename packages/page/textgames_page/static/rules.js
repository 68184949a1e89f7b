// What endings are worth, and expectations: saved as the story's TOML.

import { get, part, post } from "./api.js";
import { h, show, toast } from "./dom.js";

// An [[ending]] up to the next table, and its reward.
const ENDING = /^[ \t]*\[\[[ \t]*ending[ \t]*\]\][^]*?(?=\n[ \t]*\[|$(?![^]))/gm;
const REWARD = /^([ \t]*reward[ \t]*=[ \t]*)[^\s#]+/m;
const WORDS = {
  ending: (name) => `the ending “${name}” can be reached`,
  reachable: (name) => `the passage “${name}” can be reached`,
  never: (condition) => `never ${condition}`,
};

/** The form; `onSave()` is called when the TOML was written. */
export class RulesForm {
  constructor(game, report, onSave) {
    // A page that ends but is no ending yet can be made one.
    const traps = report.problems
      .filter((problem) => problem.kind === "trap")
      .map((problem) => ({ name: problem.passage, reward: 0, rule: null, last_words: "" }));
    this.rows = [
      ...report.endings.map((ending) => this.row(ending, true)),
      ...traps.map((ending) => this.row(ending, false)),
    ];
    Object.assign(this, { game, onSave, expect: [], list: h("ul", {}) });
    this.saving = h(
      "button",
      { type: "button", class: "main", onclick: () => this.save() },
      "Save to the TOML and test again",
    );
    const variables = report.variables.map(({ variable, values }) =>
      h("li", {}, `${variable}: ${values} `, this.variableButton(variable)),
    );
    const head = ["ending", "worth", "expectation", "ends here"].map((words) =>
      h("th", { scope: "col" }, words),
    );
    this.element = h(
      "details",
      { class: "rules panel" },
      h("summary", {}, "What endings are worth, and what you expect"),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, head)),
          h("tbody", {}, this.rows.map((row) => row.element)),
        ),
      ),
      variables.length ? [h("h3", {}, "Variables"), h("ul", { class: "values" }, variables)] : null,
      h("h3", {}, "Expectations to add"),
      this.list,
      this.saving,
    );
    this.showExpectations();
  }

  row(ending, isEnding) {
    const input = (more) => h("input", { "aria-label": `${more["data-of"]}: ${ending.name}`, ...more });
    const worth = input({
      type: "number",
      step: "any",
      required: true,
      value: ending.reward,
      "data-of": "worth",
    });
    const ends = input({ type: "checkbox", checked: Boolean(isEnding), "data-of": "ends here" });
    ends.disabled = Boolean(ending.rule);
    const name = h("th", { scope: "row" }, ending.name, h("span", { class: "remark" }, ending.last_words));
    const button = this.button({ ending: ending.name });
    const cells = [worth, button, ends].map((content) => h("td", {}, content));
    return { ending, worth, ends, element: h("tr", {}, name, cells) };
  }

  /** A button that adds an expectation. */
  button(expectation) {
    const add = () => this.add(expectation);
    return h("button", { type: "button", class: "play-from", onclick: add }, "+ expect");
  }

  variableButton(variable) {
    const add = () => {
      const name = variable.replace(/^(s\.|\$)/, ""); // the TOML names every variable with $
      const never = prompt("This must never hold:", `$${name} < 0`);
      if (never) this.add({ never });
    };
    return h("button", { type: "button", class: "play-from", onclick: add }, "+ expect");
  }

  add(expectation) {
    this.expect.push(expectation);
    this.element.open = true;
    this.showExpectations();
    toast("Added to the expectations. Save them below the map.");
  }

  showExpectations() {
    const lines = this.expect.map((expectation, index) => {
      const [[key, value]] = Object.entries(expectation);
      const remove = () => {
        this.expect.splice(index, 1);
        this.showExpectations();
      };
      const label = `Remove: ${WORDS[key](value)}`;
      return h(
        "li",
        {},
        `${WORDS[key](value)} `,
        h("button", { type: "button", class: "play-from", "aria-label": label, onclick: remove }, "×"),
      );
    });
    const none = h("li", { class: "soft" }, "None yet: press + expect.");
    show(this.list, lines.length ? lines : none);
  }

  async save() {
    if (!this.rows.every(({ ends, worth }) => !ends.checked || worth.reportValidity())) return;
    this.saving.disabled = true;
    const endings = this.rows
      .filter((row) => row.ends.checked)
      .map(({ ending, worth }) => ({
        rule: ending.rule,
        name: ending.name,
        worth: Number(worth.value),
      }));
    try {
      const address = `/api/games/${part(this.game.id)}/rules`;
      const { file, text, story } = await get(address);
      const rules = text ?? `story = ${JSON.stringify(story)}\n`;
      await post(address, { text: edited(rules, endings, this.expect) });
      toast(`Saved as ${file}.`);
      this.onSave();
    } catch (error) {
      toast(error.message, "bad");
      this.saving.disabled = false;
    }
  }
}

/** The text of a TOML with other worths of endings, and more expectations; all else stays. */
function edited(text, endings, expect) {
  const tables = [...text.matchAll(ENDING)];
  const lines = [];
  for (const { rule, name, worth } of [...endings].sort((a, b) => (b.rule ?? 0) - (a.rule ?? 0))) {
    const table = tables[rule - 1]; // the last one first, since the text before it stays
    if (table) {
      const words = table[0].replace(REWARD, `$1${worth}`);
      text = text.slice(0, table.index) + words + text.slice(table.index + table[0].length);
    } else lines.push("", "[[ending]]", `passage = ${JSON.stringify(name)}`, `reward = ${worth}`);
  }
  for (const expectation of expect) {
    const [[key, value]] = Object.entries(expectation);
    lines.push("", "[[expect]]", `${key} = ${JSON.stringify(value)}`);
  }
  return `${[text.trimEnd(), ...lines].join("\n")}\n`;
}
