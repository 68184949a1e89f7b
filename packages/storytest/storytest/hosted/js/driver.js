// The driver: starts an episode, presses an action, waits for the page, and returns it as JSON.
(function (drrn) {
  "use strict";

  // Limits until a page is settled: fake milliseconds, timers, and rounds of both.
  const SETTLING = { span: 10000, firings: 400, rounds: 2 };
  const WAITING = { span: 30000, firings: 400, rounds: 8 }; // more, if nothing can be pressed yet
  const HASTY = { span: 1500, firings: 200 }; // for a player who does not wait for timers
  const THINKING = 1000; // fake milliseconds between two clicks
  const MAX_ERRORS = 20;
  const MAX_MESSAGE = 500; // characters of an error
  const MAX_PAGE = 2 ** 24; // characters of a page with its variables; larger pages are refused

  let errors = [];
  let view = { pieces: [], actions: [], boxes: [] };
  let isAside = false; // whether the page was opened from the side bar

  /** Describe a thrown value, which can be anything; reading its properties may throw again. */
  function describe(error) {
    try {
      const words = error && error.message !== undefined
        ? `${error.name || "Error"}: ${error.message}`
        : String(error);
      return words.slice(0, MAX_MESSAGE);
    } catch {
      return "Error: something without words was thrown";
    }
  }

  /** Record an error of the story with its passage. */
  drrn.note = function note(error) {
    const passage = drrn.format ? drrn.format.passage() : "";
    const line = `${passage}: ${describe(error)}`;
    if (errors.length < MAX_ERRORS && !errors.includes(line)) errors.push(line);
  };

  // Errors are reported to the window, since the story may listen for them.
  drrn.report = drrn.report || ((error) => globalThis.reportError(error));
  globalThis.addEventListener("error", (event) => drrn.note(event.error || event.message));
  globalThis.addEventListener("unhandledrejection", (event) => drrn.note(event.reason));

  /** Called before the story's scripts, with the player's answers and the seed of the opening. */
  drrn.begin = function begin(inputs, key, lots = [], listing = false) {
    errors = [];
    isAside = false;
    drrn.answers = inputs;
    drrn.restarted = false;
    drrn.noteGlobals();
    drrn.chance.reseed(key, lots, listing);
  };

  /** Read the page; `extra` is an action that no element of it shows, and may have a label. */
  function readView(extra = null) {
    view = drrn.read(drrn.format.roots(), drrn.format.sideBar(), isAside, extra);
    return view;
  }

  /** Run timers; `drrn.still` first ends animations of a real browser, if it is defined. */
  async function runTimers(patience) {
    if (drrn.still) await drrn.still();
    const done = await drrn.clock.run(patience.span, patience.firings);
    if (drrn.still && (await drrn.still())) await drrn.clock.run(0, patience.firings);
    return done;
  }

  /** Words that a curious player types; null for a player who gives the answers of [inputs]. */
  drrn.curious = null;
  drrn.isHasty = false; // whether that player looks at pages before their timers
  const WAIT = { kind: "wait", label: "(wait)" };
  let isWaiting = false; // whether that player waits for the timers of this page

  /** Fill the text boxes; return their number. */
  const fillAll = (boxes) =>
    drrn.tryWords(boxes) || boxes.filter((box) => drrn.fill(box)).length;

  /**
   * As a player in a hurry, look at the page before its timers; true if it has actions. To wait
   * for the timers is then one of them.
   */
  async function lookEarly() {
    if (!drrn.curious || !drrn.isHasty || isWaiting) return false;
    await runTimers(HASTY);
    if (fillAll(readView().boxes)) readView();
    if (view.actions.length && drrn.clock.hasTimeout()) readView(WAIT);
    return view.actions.length > 0;
  }

  /** Run timers until the page is settled, its text boxes are filled, and it has actions. */
  async function settle() {
    if (await lookEarly()) return;
    for (let round = 0; round < SETTLING.rounds; round += 1) {
      const still = await runTimers(SETTLING);
      const count = fillAll(readView().boxes);
      if (count) await runTimers(SETTLING);
      if (count) readView();
      if (still) break;
    }
    for (let round = 0; round < WAITING.rounds; round += 1) {
      if (drrn.restarted || view.actions.length || !drrn.clock.waiting()) break;
      await runTimers(WAITING);
      readView();
    }
  }

  /** The page, as JSON. */
  drrn.page = function page() {
    return JSON.stringify({
      passage: drrn.format.passage(),
      pieces: view.pieces,
      variables: drrn.format.variables(),
      errors,
      faults: drrn.format.faults(view.pieces),
      beyond: drrn.beyond(),
      history: drrn.format.history(),
      entered: visit.clicks.length === 0,
      draws: drrn.chance.draws,
      lots: drrn.chance.lots,
      restarted: Boolean(drrn.restarted),
      asks: view.boxes.length > 0,
      words: [...drrn.typedWords.values()].join(", "),
    });
  };

  async function settleAfter(action) {
    drrn.result = null;
    try {
      action();
      await settle();
      recordVisit();
      await offerAnywhere();
      const page = drrn.page();
      if (page.length > MAX_PAGE) {
        throw new RangeError("the page and the story's variables are larger than 16 MB");
      }
      drrn.result = page;
    } catch (error) {
      drrn.result = JSON.stringify({ failed: describe(error) });
    }
    return drrn.result;
  }

  /** Called after the story's scripts: read the first page. */
  drrn.open = () => settleAfter(() => { visit = null; });

  /** Set haste and words; words that are not null are also typed into boxes of the first page. */
  drrn.setCuriosity = async (isHasty, words) => {
    Object.assign(drrn, { isHasty, curious: words });
    isWaiting = false; // the last game may have ended with a wait
    return drrn.tryWords(view.boxes) ? drrn.open() : drrn.result;
  };

  /** Press the action at an index, with the random numbers of a key, and read the next page. */
  drrn.step = (index, key = drrn.chance.following(), lots = [], listing = false) => settleAfter(() => {
    const action = view.actions[index];
    if (!action) throw new RangeError(`the page has no action ${index}`);
    errors = [];
    drrn.typedWords.clear();
    isAside = index >= view.own;
    isWaiting = action === WAIT;
    pressedIndex = index;
    drrn.chance.reseed(key, lots, listing);
    drrn.format.reseed();
    drrn.clock.pass(THINKING);
    drrn.use(action);
  });

  // Whether the page that is being restored continues after a click anywhere; null: unknown.
  let knownAnywhere = null;
  let isAnywhere = false; // whether this page does

  /** Offer a click anywhere, if the page has no other action and a click changes it. */
  async function offerAnywhere() {
    isAnywhere = false;
    if (drrn.restarted || view.actions.length || drrn.clock.waiting()) return;
    if (!drrn.anywhere() || !(knownAnywhere ?? (await changesByClick()))) return;
    isAnywhere = true;
    readView({ element: drrn.anywhere(), kind: "click" });
  }

  /** Click anywhere, and return to the page as it was; true if the click changed what it shows. */
  async function changesByClick() {
    const saved = drrn.save();
    if (saved === null) return false;
    const before = drrn.page();
    const look = () => JSON.stringify([drrn.format.passage(), view.pieces]);
    const [lookBefore, errorsBefore, { draws, lots }] = [look(), errors, drrn.chance];
    errors = [];
    drrn.clock.pass(THINKING);
    drrn.anywhere().click();
    await settle();
    const isChanged = !drrn.restarted && look() !== lookBefore;
    if (drrn.restarted || drrn.page() !== before) await drrn.restore(saved);
    errors = errorsBefore;
    Object.assign(drrn.chance, { draws, lots });
    return isChanged;
  }

  let pressedIndex = 0;
  let visit = null; // the move to this passage, and the clicks in it since, each with its draws

  /** Record how to return to this page: the move to its passage, and the clicks in it. */
  function recordVisit() {
    const moment = drrn.format.moment();
    const chance = { key: drrn.chance.key(), lots: drrn.chance.lots.map(([, outcome]) => outcome) };
    if (visit === null || moment !== visit.moment) {
      visit = { moment, chance, storage: drrn.storage(), clicks: [], isAside };
    } else visit.clicks.push({ index: pressedIndex, chance });
  }

  /** The engine's state on entering this passage and the clicks since; null if it has none. */
  drrn.save = () => {
    const state = drrn.format.save();
    return state === null
      ? null
      : JSON.stringify({
        state,
        chance: visit.chance,
        storage: visit.storage,
        clicks: visit.clicks,
        isAside: visit.isAside,
        isAnywhere,
      });
  };

  /** Enter the passage again with other values of variables, and read its page. */
  drrn.change = (values, key) => settleAfter(() => {
    const state = drrn.format.save() ?? drrn.format.present();
    errors = [];
    visit = null;
    drrn.chance.reseed(key);
    drrn.format.reseed();
    if (state === null || !drrn.format.restore(state, values)) {
      throw new Error("the values of variables cannot be changed in this story format");
    }
  });

  /** Return to a saved state and read its page. */
  drrn.restore = async (saved) => {
    const { state, chance, storage, clicks, ...rest } = JSON.parse(saved);
    errors = [];
    drrn.typedWords.clear();
    isAside = rest.isAside;
    const isLast = (index) => index === clicks.length;
    knownAnywhere = isLast(0) ? rest.isAnywhere : true;
    await settleAfter(() => {
      visit = null;
      drrn.restarted = false;
      drrn.chance.reseed(chance.key, chance.lots, chance.listing);
      drrn.format.reseed();
      // As it was after the passage was displayed: if displaying it changes more, the page differs
      // from the saved one.
      if (storage) drrn.restoreStorage(storage);
      if (!drrn.format.restore(state)) {
        throw new Error("the engine does not accept its saved state");
      }
    });
    for (const [index, click] of clicks.entries()) {
      if (drrn.result.startsWith('{"failed":')) break;
      knownAnywhere = isLast(index + 1) ? rest.isAnywhere : true;
      await drrn.step(click.index, click.chance.key, click.chance.lots);
    }
    knownAnywhere = null;
    return drrn.result;
  };
})(globalThis.__drrn);
