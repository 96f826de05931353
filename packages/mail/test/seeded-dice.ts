// Repeatable random numbers for tests that draw a million cases.

/** A whole number from 0 up to but without `sides`. */
export type Dice = (sides: number) => number

/** Mulberry32: fast and even enough for choosing cases. */
export function seededDice(seed: number): Dice {
  let state = seed >>> 0
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }
}
