// Styles that inherit from each other: what each says about its text being hidden.

import { FileFault } from './file-text.ts'

type Style = { isHidden: boolean | null; parent: string | null }

/** Of one file; programs know some thousands. */
const STYLES_MAX = 200_000

/** The keys are the reader's. All look-ups together take time in proportion to the styles, also where these form circles. */
export class StyleChains {
  readonly #styles = new Map<string, Style>()

  /** The first style of a key counts. Throws FileFault beyond STYLES_MAX. */
  add(key: string, style: Readonly<Style>): void {
    if (this.#styles.has(key)) return
    if (this.#styles.size >= STYLES_MAX) throw new FileFault('too_large', 'It has too many styles.')
    this.#styles.set(key, { ...style })
  }

  has(key: string): boolean {
    return this.#styles.has(key)
  }

  /** As the style says, or the nearest of those that it inherits from; null where none says anything. */
  isHidden(key: string): boolean | null {
    const passed: Style[] = []
    let style = this.#styles.get(key)
    while (style !== undefined && style.isHidden === null) {
      passed.push(style)
      const { parent } = style
      // Nothing is passed twice: not in a circle, and not by a later look-up.
      style.parent = null
      style = parent === null ? undefined : this.#styles.get(parent)
    }
    const isHidden = style?.isHidden ?? null
    for (const one of passed) one.isHidden = isHidden
    return isHidden
  }
}
