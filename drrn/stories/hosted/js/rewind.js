// Rewinding: starts a new episode in the same page, if that is equivalent to loading it again.
(function (drrn) {
  "use strict";

  const CHANCE = /\b(random|either|shuffle|shuffled|pluck|prng|seed)/i;
  const CODE = /<script|<<script|<<run\b|\bon[a-z]+\s*=\s*["']|\b(setup|window|localStorage|settings|Save)\.\w|<<(remember|forget)\b|\((save-game|load-game|seed|metadata)\s*:/;
  const LEFT_OUT = new Set(["script", "style", "tw-storydata"]);

  let opening = null; // {saved, storage, signature} of a page that can be rewound

  const sources = (selector) => Array.from(document.querySelectorAll(selector), (element) => element.textContent).join("\n");

  /** Whether the engine's state contains all changes: the story has no code that could store more. */
  function plainStory() {
    if (sources("tw-storydata script[role=script],#twine-user-script").trim()) return false;
    if (sources("tw-passagedata[tags~=script]").trim()) return false;
    if (CODE.test(sources("tw-passagedata"))) return false;
    const first = ["StoryInit", "PassageReady", "PassageHeader"].map((name) => `tw-passagedata[name=${name}]`).join();
    return !CHANCE.test(sources(`${first},tw-passagedata[tags~=init],tw-passagedata[tags~=startup]`));
  }

  /** The whole page as text, with hidden parts, without the story's data and the format's bars. */
  function signature() {
    const tops = [document.documentElement, document.body].map((element) => element.cloneNode(false).outerHTML);
    const parts = Array.from(document.body.children).filter((element) => !LEFT_OUT.has(element.localName) && !drrn.format.own(element));
    const styles = document.querySelectorAll("style").length;
    return [...tops, ...parts.map((element) => element.outerHTML), styles, document.title, drrn.result, drrn.stored()].join("\n");
  }

  /** The opening, with the chance of an episode. */
  function at(key, lots = [], listing = false) {
    return drrn.restore(JSON.stringify({ ...opening.saved, chance: { key, lots, listing }, clicks: [] }));
  }

  /** Show the opening with a fixed chance; return the complete page. */
  async function tried() {
    drrn.clock.rewind();
    drrn.storeAgain(opening.storage);
    await at(0, [], true);
    return signature();
  }

  async function begun(...chance) {
    drrn.clock.rewind();
    drrn.storeAgain(opening.storage);
    return at(...chance);
  }

  /** Called after the story's scripts: read the first page, and save it for later episodes if that is safe. */
  drrn.opened = async (...chance) => {
    await drrn.open();
    const saved = drrn.clock.waiting() || drrn.restarted || !drrn.format.fresh() || !plainStory() ? null : drrn.save();
    if (saved === null) return drrn.result;
    opening = { saved: JSON.parse(saved), storage: drrn.stored(), signature: "" };
    const first = drrn.result;
    drrn.clock.keep();
    opening.signature = await tried();
    const same = opening.signature === (await tried());
    if (!same) opening = null;
    return same ? begun(...chance) : (drrn.result = first);
  };

  /** Start another episode; the result is null if the page must be loaded again. */
  drrn.again = async (...chance) => {
    const before = drrn.result;
    drrn.result = null;
    if (!opening || !before || drrn.restarted) return null;
    if ((await tried()) === opening.signature) return begun(...chance);
    opening = null;
    return (drrn.result = null);
  };
})(globalThis.__drrn);
