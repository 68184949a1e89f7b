// Rewinding: starts a new episode in the same page, if that is equivalent to loading it again.
(function (drrn) {
  "use strict";

  const CHANCE = /\b(random|either|shuffle|shuffled|pluck|prng|seed)/i;
  const CODE =
    /<script|<<script|<<run\b|\bon[a-z]+\s*=\s*["']|\b(setup|window|localStorage|settings|Save)\.\w|<<(remember|forget)\b|\((save-game|load-game|seed|metadata)\s*:/;
  const OMITTED = new Set(["script", "style", "tw-storydata"]);

  // The first page: {saved, storage, signature, isPlain}, and the chance of a signature that
  // was taken before any rewinding.
  let opening = null;

  const sources = (selector) =>
    Array.from(document.querySelectorAll(selector), (element) => element.textContent).join("\n");

  /** Whether the engine's state is complete: the story has no code that could store more. */
  function plainStory() {
    if (sources("tw-storydata script[role=script],#twine-user-script").trim()) return false;
    if (sources("tw-passagedata[tags~=script]").trim()) return false;
    if (CODE.test(sources("tw-passagedata"))) return false;
    const first = ["StoryInit", "PassageReady", "PassageHeader"]
      .map((name) => `tw-passagedata[name=${name}]`)
      .join();
    return !CHANCE.test(
      sources(`${first},tw-passagedata[tags~=init],tw-passagedata[tags~=startup]`),
    );
  }

  /** The whole page as text, with hidden parts, without the story's data and the format's bars. */
  function signature() {
    const tops = [document.documentElement, document.body].map((element) =>
      element.cloneNode(false).outerHTML,
    );
    const parts = Array.from(document.body.children)
      .filter((element) => !OMITTED.has(element.localName) && !drrn.format.own(element));
    const styles = document.querySelectorAll("style").length;
    const markup = parts.map((element) => element.outerHTML);
    const rest = [styles, document.title, drrn.result, drrn.storageText()];
    return [...tops, ...markup, ...rest].join("\n");
  }

  /** Show the opening, with the random numbers of an episode. */
  function showOpening(key, lots = [], listing = false) {
    return drrn.restore(
      JSON.stringify({ ...opening.saved, chance: { key, lots, listing }, clicks: [] }),
    );
  }

  /** Show the opening with fixed random numbers; return the complete page. */
  async function openingSignature() {
    await startEpisode(...opening.chance);
    return signature();
  }

  async function startEpisode(...chance) {
    drrn.clock.rewind();
    drrn.restoreStorage(opening.storage);
    return showOpening(...chance);
  }

  /** Called after the story's scripts: read the first page; if safe, save it for later episodes. */
  drrn.openStory = async (...chance) => {
    await drrn.open();
    const isBusy = drrn.clock.waiting() || drrn.restarted;
    const saved = isBusy ? null : drrn.save();
    if (saved === null) return drrn.result;
    const isPlain = drrn.format.fresh() && plainStory();
    opening = {
      saved: JSON.parse(saved),
      storage: drrn.storageText(),
      isPlain,
      chance: isPlain ? [0, [], true] : chance,
      signature: isPlain ? "" : signature(),
    };
    const first = drrn.result;
    drrn.clock.save();
    if (!isPlain) return first;
    opening.signature = await openingSignature();
    const same = opening.signature === (await openingSignature());
    if (!same) opening = null;
    return same ? startEpisode(...chance) : (drrn.result = first);
  };

  /**
   * Start another episode; the result is null if the page must be loaded again. A story with
   * scripts may store more than its engine's state; it is rewound only by request (`isLoose`).
   */
  drrn.again = async (isLoose, ...chance) => {
    const before = drrn.result;
    drrn.result = null;
    if (!opening || !before || (drrn.restarted && opening.isPlain)) return null;
    if (!opening.isPlain && !isLoose) return null;
    if ((await openingSignature()) === opening.signature) return startEpisode(...chance);
    opening = null;
    return (drrn.result = null);
  };
})(globalThis.__drrn);
