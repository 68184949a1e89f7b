// Rewinding: a new episode in the same page, where that is as good as a page loaded anew; else the page says so.
(function (drrn) {
  "use strict";

  const CHANCE = /\b(random|either|shuffle|shuffled|pluck|prng|seed)/i;
  const CODE = /<script|<<script|<<run\b|\bon[a-z]+\s*=\s*["']|\b(setup|window|localStorage|settings|Save)\.\w|<<(remember|forget)\b|\((save-game|load-game|seed|metadata)\s*:/;
  const LEFT_OUT = new Set(["script", "style", "tw-storydata"]);

  let opening = null; // {saved, storage, signature} of a page that can be rewound

  const sources = (selector) => Array.from(document.querySelectorAll(selector), (element) => element.textContent).join("\n");

  /** Whether all that an episode changes is in the engine's state: the story has no code of its own that could keep more. */
  function plainStory() {
    if (sources("tw-storydata script[role=script],#twine-user-script").trim()) return false;
    if (sources("tw-passagedata[tags~=script]").trim()) return false;
    if (CODE.test(sources("tw-passagedata"))) return false;
    const first = ["StoryInit", "PassageReady", "PassageHeader"].map((name) => `tw-passagedata[name=${name}]`).join();
    return !CHANCE.test(sources(`${first},tw-passagedata[tags~=init],tw-passagedata[tags~=startup]`));
  }

  /** The whole page as text, hidden parts too, without the story's data and the format's own bars. */
  function signature() {
    const tops = [document.documentElement, document.body].map((element) => element.cloneNode(false).outerHTML);
    const parts = Array.from(document.body.children).filter((element) => !LEFT_OUT.has(element.localName) && !drrn.format.own(element));
    const styles = document.querySelectorAll("style").length;
    return [...tops, ...parts.map((element) => element.outerHTML), styles, document.title, drrn.result, drrn.stored()].join("\n");
  }

  /** The opening, by the chance of an episode. */
  function at(key, lots = [], listing = false) {
    return drrn.restore(JSON.stringify({ ...opening.saved, chance: { key, lots, listing }, clicks: [] }));
  }

  /** Show the opening by one and the same chance; what the page then is, to the last attribute. */
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

  /** After the story's scripts: the opening page, kept for later episodes where that is sure to be enough. */
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

  /** Begin another episode; the result is null where only a page loaded anew will do. */
  drrn.again = async (...chance) => {
    const before = drrn.result;
    drrn.result = null;
    if (!opening || !before || drrn.restarted) return null;
    if ((await tried()) === opening.signature) return begun(...chance);
    opening = null;
    return (drrn.result = null);
  };
})(globalThis.__drrn);
