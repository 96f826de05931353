// Resolves, through style inheritance, whether text is hidden.

import { FileFault } from './file-text.ts'

type Style = { isHidden: boolean | null; parent: string | null }

/** The maximum number of styles in a file; programs define a few thousand. */
const STYLES_MAX = 200_000

/**
 * Hidden states of styles by keys that the caller defines. The total time of all look-ups is
 * proportional to the number of styles, even if inheritance is circular.
 */
export class StyleChains {
  readonly #styles = new Map<string, Style>()

  /** Adds a style unless its key exists. Throws FileFault beyond STYLES_MAX. */
  add(key: string, style: Readonly<Style>): void {
    if (this.#styles.has(key)) return
    if (this.#styles.size >= STYLES_MAX) throw new FileFault('too_large', 'It has too many styles.')
    this.#styles.set(key, { ...style })
  }

  has(key: string): boolean {
    return this.#styles.has(key)
  }

  /** Follows inheritance to the nearest style that hides or shows text; null if there is none. */
  isHidden(key: string): boolean | null {
    const passed: Style[] = []
    let style = this.#styles.get(key)
    while (style !== undefined && style.isHidden === null) {
      passed.push(style)
      const { parent } = style
      // Each style is visited once, even if inheritance is circular or a look-up is repeated.
      style.parent = null
      style = parent === null ? undefined : this.#styles.get(parent)
    }
    const isHidden = style?.isHidden ?? null
    for (const one of passed) one.isHidden = isHidden
    return isHidden
  }
}
