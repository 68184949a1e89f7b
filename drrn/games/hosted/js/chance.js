// Seeded chance: every random number of a step follows from the seed and the step's number alone.
(function (drrn) {
  "use strict";

  const chance = {
    draws: 0, // numbers drawn in this step
    lots: null, // outcomes given beforehand for `draw`, first come first taken; null: by the generator
    asked: [], // [outcomes, outcome] of every `draw` in this step
    reseed,
    random,
    draw,
    key: () => state >>> 0, // what the chance of this step follows from, for an engine with a generator of its own
  };
  let state = 0;

  /** Scramble a 32-bit number so that neighbours have nothing in common. */
  function scrambled(number) {
    let mixed = number | 0;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** Begin the chance of one step. */
  function reseed(seed, step) {
    state = scrambled(scrambled(seed) + Math.imul(step, 0x9e3779b1));
    chance.draws = 0;
    chance.asked = [];
  }

  /** A 32-bit number: the next of a Weyl sequence, scrambled. */
  function next() {
    state = (state + 0x9e3779b9) | 0;
    return scrambled(state);
  }

  /** A number from 0 up to, but not including, 1, with all 53 bits. */
  function random() {
    chance.draws += 1;
    return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  }

  /** One of `outcomes` equally likely numbers from 0 up: a lot, which can be given beforehand. */
  function draw(outcomes) {
    const place = chance.asked.length;
    const given = chance.lots && place < chance.lots.length ? chance.lots[place] : Math.floor(random() * outcomes);
    chance.asked.push([outcomes, given]);
    return given;
  }

  function getRandomValues(numbers) {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    for (let place = 0; place < bytes.length; place += 1) bytes[place] = Math.floor(random() * 256);
    return numbers;
  }

  function randomUUID() {
    const digits = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
  }

  reseed(0, 0);
  Math.random = random;
  if (!globalThis.crypto) {
    Object.defineProperty(globalThis, "crypto", { value: {}, writable: true, configurable: true, enumerable: true });
  }
  for (const [name, value] of Object.entries({ getRandomValues, randomUUID })) {
    Object.defineProperty(globalThis.crypto, name, { value, writable: true, configurable: true, enumerable: true });
  }
  drrn.chance = chance;
})(globalThis.__drrn);
