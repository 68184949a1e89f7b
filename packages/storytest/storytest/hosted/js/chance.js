// Seeded random numbers: the key of a step determines all that it draws.
(function (drrn) {
  "use strict";

  const MAX_OUTCOMES = 1000000; // of one listed draw
  const GOLDEN = 0x9e3779b9; // 2^32 divided by the golden ratio: its multiples are evenly spread

  const chance = {
    draws: 0, // random numbers of this step that have no list of outcomes
    lots: [], // [outcomes, outcome] of every listed draw of this step
    reseed,
    random,
    spread,
    inPassage,
    key: () => key,
    following: () => hash32(key + GOLDEN), // the key of the next step, if none is given
  };
  let key = 0; // seed of this step
  let presets = []; // preset outcomes of the first listed draws
  // Whether later draws have their first outcome, so that all can be enumerated.
  let listing = false;
  let state = 0;

  /** A 32-bit hash of a number. */
  function hash32(number) {
    let hash = number | 0;
    hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
    hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
    return (hash ^ (hash >>> 15)) >>> 0;
  }

  /** Seed the random numbers of a step. */
  function reseed(number, lots = [], first = false) {
    key = number >>> 0;
    presets = lots;
    listing = first;
    state = hash32(key);
    chance.draws = 0;
    chance.lots = [];
  }

  /** A 32-bit number: the next of a Weyl sequence, scrambled. */
  function next() {
    state = (state + 0x9e3779b9) | 0;
    return hash32(state);
  }

  /** A number from 0 up to, but not including, 1, with all 53 bits. */
  function random() {
    chance.draws += 1;
    return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  }

  /** One of `outcomes` equally likely numbers from 0, the same as `draws_of` in hosted/stage.py. */
  function listedDraw(outcomes) {
    const index = chance.lots.length;
    const byKey = () =>
      Math.floor((hash32(key + Math.imul(index + 1, GOLDEN)) * outcomes) / 4294967296);
    const outcome = index < presets.length ? presets[index] : listing ? 0 : byKey();
    chance.lots.push([outcomes, outcome]);
    return outcome;
  }

  /** A number below `outcomes`, to be rounded down; a listed draw if `outcomes` is an integer. */
  function spread(outcomes) {
    if (!Number.isInteger(outcomes) || outcomes < 1 || outcomes > MAX_OUTCOMES) {
      return random() * outcomes;
    }
    return outcomes === 1 ? 0.5 : listedDraw(outcomes) + 0.5;
  }

  /**
   * A number between 0 and 1, in the middle of one of some equal parts; 0: anywhere. Chapbook also
   * draws before its first passage; nothing depends on that.
   */
  function inPassage(parts) {
    if (!drrn.format.passage()) return 0.5;
    return parts ? spread(parts) / parts : random();
  }

  function getRandomValues(numbers) {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = Math.floor(random() * 256);
    return numbers;
  }

  function randomUUID() {
    const digit = () => Math.floor(random() * 16).toString(16);
    const digits = Array.from({ length: 32 }, digit).join("");
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
  }

  reseed(0);
  Math.random = random;
  if (!globalThis.crypto) {
    Object.defineProperty(globalThis, "crypto", {
      value: {},
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }
  for (const [name, value] of Object.entries({ getRandomValues, randomUUID })) {
    Object.defineProperty(globalThis.crypto, name, {
      value,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }
  drrn.chance = chance;
})(globalThis.__drrn);
