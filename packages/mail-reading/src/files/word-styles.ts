// Determines which styles of a Word document hide text (ECMA-376 part 1 §17.7).

import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import { StyleChains } from './style-chains.ts'
import type { ZipFile } from './zip-file.ts'

const TYPES = ['table', 'paragraph', 'character'] as const
type Type = (typeof TYPES)[number]

/** Style ids of a text: '' for the default style, null for no style, as outside tables. */
type StylesOfText = Readonly<Record<Type, string | null>>

export class WordStyles implements XmlReader {
  readonly #chains = new StyleChains()
  readonly #defaults = new Map<string, string>()
  /** Whether the document defaults hide text. */
  #isHidden = false
  /** The open elements, innermost last. */
  readonly #path: string[] = []
  #style: { id: string; type: string; parent: string | null; isHidden: boolean | null } | null =
    null
  /** The part of a table that the properties apply to. */
  #part = ''

  constructor(zip: ZipFile, parts: readonly string[]) {
    for (const part of parts) readXml(zip, part, this)
  }

  /**
   * Combines the styles of different types by exclusive or, unless the defaults hide text
   * (§17.7.3). Styles of single table parts are not evaluated.
   */
  hide(styles: StylesOfText): boolean {
    const said = TYPES.map((type) => this.#isHiddenBy(type, styles[type])).filter(
      (isHidden) => isHidden !== null,
    )
    if (said.length === 0) return this.#isHidden
    if (said.length > 1 && this.#isHidden) return true
    return said.filter(Boolean).length % 2 === 1
  }

  #isHiddenBy(type: Type, id: string | null): boolean | null {
    if (id === null) return null
    const key = keyOf(type, id)
    // Programs use the default style instead of a missing one.
    const known = id !== '' && this.#chains.has(key) ? key : this.#defaults.get(type)
    return known === undefined ? null : this.#chains.isHidden(known)
  }

  open(element: XmlElement): void {
    const { name, attribute } = element
    const style = this.#style
    if (name === 'style') {
      const [id, type] = [attribute('styleId') ?? '', attribute('type') ?? '']
      this.#style = { id, type, parent: null, isHidden: null }
      if (isOnValue(attribute('default'), false) && !this.#defaults.has(type)) {
        this.#defaults.set(type, keyOf(type, id))
      }
    } else if (name === 'tblStylePr') this.#part = attribute('type') ?? ''
    else if (name === 'basedOn' && style !== null && this.#path.at(-1) === 'style') {
      style.parent = attribute('val')
    } else if (name === 'vanish' && this.#path.at(-1) === 'rPr') this.#vanish(isOn(element))
    this.#path.push(name)
  }

  close(name: string): void {
    this.#path.pop()
    if (name === 'style') this.#add()
  }

  #vanish(isHidden: boolean): void {
    const owner = this.#path.at(-2)
    if (owner === 'rPrDefault') this.#isHidden = isHidden
    else if (owner === 'style' || (owner === 'tblStylePr' && this.#part === 'wholeTable')) {
      if (this.#style !== null) this.#style.isHidden = isHidden
    }
  }

  #add(): void {
    const style = this.#style
    this.#style = null
    if (style === null) return
    const { id, type, parent, isHidden } = style
    // Programs differ on styles without a type, so all types are set.
    for (const one of type === '' ? TYPES : [type]) {
      const inherited = parent === null ? null : keyOf(one, parent)
      this.#chains.add(keyOf(one, id), { isHidden, parent: inherited })
    }
  }
}

/** Maximum UTF-16 units of a style id; programs write shorter ones. */
const ID_LENGTH_MAX = 255

/** The key is unambiguous, because XML cannot contain NUL. */
function keyOf(type: string, id: string): string {
  // Each text of a paragraph looks up its style id again, so long ids are cut.
  return `${type}\0${id.slice(0, ID_LENGTH_MAX)}`
}

/** A property without a value is on (§17.17.4). */
export function isOn({ attribute }: XmlElement): boolean {
  return isOnValue(attribute('val'), true)
}

function isOnValue(value: string | null, byDefault: boolean): boolean {
  return value === null ? byDefault : !['0', 'false', 'off'].includes(value)
}
