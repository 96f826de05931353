// Text for benchmarks that is the same in every run.

/**
 * A vocabulary of 50,000 words with natural frequencies: the n-th word occurs about 1/n as often.
 */
export class Words {
  #seed = 1
  next(): number {
    // Mulberry32, a random number generator that yields the same words in every run.
    this.#seed = (this.#seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), this.#seed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  at(index: number): string {
    return `${((index * 7_919) % 50_021).toString(36)}${['ing', 'er', '', 'tion', 'ly'][index % 5]}q`
  }
  text(count: number): string {
    const draw = () => this.at(Math.floor(Math.exp(this.next() * Math.log(50_000))) - 1)
    return Array.from({ length: count }, draw).join(' ')
  }
}
