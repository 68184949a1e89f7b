// A fake clock: time moves only while timers run, so a page settles at once and deterministically.
(function (drrn) {
  "use strict";

  // A fixed time; noon, so that stories that greet by the time of day agree everywhere.
  const START = Date.UTC(2020, 0, 1, 12);
  const FRAME = 16; // milliseconds between two animation frames
  // Readings of the time in one step before time advances by itself, so that a busy wait ends.
  const PATIENCE = 20000;
  // Turns of promises after each timer, which is the length of .then() chains that are followed.
  const CHECKPOINTS = 6;
  const RealDate = Date;

  let now = 0; // milliseconds since START
  let savedTime = 0; // the time to rewind to
  let readings = 0;
  let serial = 0;
  let queue = []; // waiting timers, soonest first; timers of equal time in the order of creation
  const byId = new Map();

  /** The time, in milliseconds since START. */
  function read() {
    readings += 1;
    if (readings > PATIENCE) now += 1;
    return now;
  }

  function enqueue(timer) {
    let index = queue.length;
    while (index > 0 && queue[index - 1].due > timer.due) index -= 1;
    queue.splice(index, 0, timer);
  }

  function set(action, due, interval, args) {
    serial += 1;
    const timer = { id: serial, action, due, interval, args };
    byId.set(timer.id, timer);
    enqueue(timer);
    return timer.id;
  }

  function clear(id) {
    const timer = byId.get(Number(id));
    if (!timer) return;
    byId.delete(timer.id);
    const index = queue.indexOf(timer);
    if (index >= 0) queue.splice(index, 1);
  }

  function delayOf(milliseconds) {
    const delay = Number(milliseconds);
    return delay > 0 && delay < 2147483648 ? Math.floor(delay) : 0;
  }

  /** Run one timer as a browser does: an error is reported and stops nothing else. */
  function fire(timer) {
    now = Math.max(now, timer.due);
    if (timer.interval === null) {
      byId.delete(timer.id);
    } else {
      timer.due = now + timer.interval;
      enqueue(timer);
    }
    try {
      if (typeof timer.action === "function") timer.action.apply(globalThis, timer.args);
      else (0, eval)(String(timer.action));
    } catch (error) {
      drrn.report(error);
    }
  }

  /** Run timers for a span of fake time, at most `firings`; true if none remains. */
  async function run(span, firings) {
    const until = now + span;
    let left = firings;
    for (;;) {
      for (let turn = 0; turn < CHECKPOINTS; turn += 1) await undefined;
      if (!queue.length || queue[0].due > until) return true;
      if (left <= 0) return false;
      left -= 1;
      fire(queue.shift());
    }
  }

  /** Advance the time between two clicks of a player. */
  function pass(milliseconds) {
    now += milliseconds;
    readings = 0;
  }

  function FakeDate(...args) {
    if (!new.target) return new RealDate(START + read()).toString();
    const dateArgs = args.length === 0 ? [START + read()] : args;
    return Reflect.construct(RealDate, dateArgs, new.target);
  }
  Object.setPrototypeOf(FakeDate, RealDate);
  FakeDate.prototype = RealDate.prototype;
  Object.defineProperty(FakeDate.prototype, "constructor", {
    value: FakeDate,
    writable: true,
    configurable: true,
  });
  FakeDate.now = () => START + read();
  FakeDate.UTC = RealDate.UTC;
  FakeDate.parse = RealDate.parse;

  function define(owner, name, value) {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    if (descriptor && !descriptor.configurable) owner[name] = value;
    else Object.defineProperty(owner, name, {
      value,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }

  define(globalThis, "Date", FakeDate);
  if (!globalThis.performance) define(globalThis, "performance", {});
  define(globalThis.performance, "now", () => read());
  define(globalThis.performance, "timeOrigin", START);
  define(globalThis, "setTimeout", (action, wait, ...args) =>
    set(action, now + delayOf(wait), null, args),
  );
  define(globalThis, "setInterval", (action, wait, ...args) => {
    const interval = Math.max(4, delayOf(wait));
    return set(action, now + interval, interval, args);
  });
  define(globalThis, "requestAnimationFrame", (action) => {
    const due = now + FRAME - (now % FRAME);
    return set(() => action(due), due, null, []);
  });
  define(globalThis, "requestIdleCallback", (action) =>
    set(() => action({ didTimeout: false, timeRemaining: () => 50 }), now + 1, null, []));
  for (const name of [
    "clearTimeout", "clearInterval", "cancelAnimationFrame", "cancelIdleCallback",
  ]) {
    define(globalThis, name, clear);
  }

  drrn.clock = {
    run,
    pass,
    /** Call a function after a number of milliseconds of fake time. */
    later: (milliseconds, action) => set(action, now + delayOf(milliseconds), null, []),
    /** Remember this time, and return to it later with no timer waiting. */
    save: () => { savedTime = now; },
    rewind: () => {
      now = savedTime;
      readings = 0;
      queue = [];
      byId.clear();
    },
    /** The number of waiting timers. */
    waiting: () => queue.length,
    /** Whether a timer waits that runs once. */
    hasTimeout: () => queue.some((timer) => timer.interval === null),
  };
})(globalThis.__drrn);
