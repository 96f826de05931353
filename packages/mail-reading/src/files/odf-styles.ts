// Determines which text, tables and slides the styles of an OpenDocument file hide (ISO/IEC 26300-1
// §16 and §20). Common styles are in one part; the automatic styles that inherit from them are in
// the content.

import type { XmlElement, XmlReader } from './read-xml.ts'
import { StyleChains } from './style-chains.ts'

type Scope = 'common' | 'automatic'
type Style = { key: string; family: string; parent: string | null; isHidden: boolean | null }

/** The style of a paragraph without a style name; if absent, the family's default applies. */
const STANDARD = 'Standard'
const TEXT = 'text-properties'
/** The properties that hide the content of each style family. */
const PROPERTIES: Readonly<Record<string, string>> = {
  paragraph: TEXT,
  text: TEXT,
  'table-cell': TEXT,
  graphic: TEXT,
  presentation: TEXT,
  table: 'table-properties',
  'drawing-page': 'drawing-page-properties',
}

export class OdfStyles {
  readonly #chains = new StyleChains()
  readonly #hiddenLayers = new Set<string>()

  /**
   * Reads `styles.xml`. Its automatic styles apply only to headers and footers, which are not read.
   */
  readCommon(): XmlReader {
    const common = new StyleSection('styles', 'common', this.#chains)
    return {
      open: (element) => {
        const { name, attribute } = element
        if (common.open(element) || name !== 'layer') return
        if (isUnseen(attribute('display'))) this.#hiddenLayers.add(attribute('name') ?? '')
      },
      close: (name) => void common.close(name),
    }
  }

  readAutomatic(): StyleSection {
    return new StyleSection('automatic-styles', 'automatic', this.#chains)
  }

  /** Follows inheritance; null if no style in the chain decides. */
  isHidden(family: string, name: string | null): boolean | null {
    if (name === null) return null
    const automatic = keyOf('automatic', family, name)
    const key = this.#chains.has(automatic) ? automatic : keyOf('common', family, name)
    return this.#chains.isHidden(key)
  }

  isParagraphHidden(name: string | null): boolean | null {
    return this.isHidden('paragraph', name ?? STANDARD)
  }

  /** Whether text is hidden if no style decides. */
  isHiddenByDefault(): boolean {
    return this.#chains.isHidden(keyOf('default', 'paragraph', '')) ?? false
  }

  isLayerHidden(name: string | null): boolean {
    return name !== null && this.#hiddenLayers.has(name)
  }
}

class StyleSection {
  readonly #section: string
  readonly #scope: Scope
  readonly #chains: StyleChains
  #isOpen = false
  #style: Style | null = null

  constructor(section: string, scope: Scope, chains: StyleChains) {
    this.#section = section
    this.#scope = scope
    this.#chains = chains
  }

  /** Returns whether the element is within the section. */
  open(element: XmlElement): boolean {
    const { name, attribute } = element
    if (name === this.#section) this.#isOpen = true
    if (!this.#isOpen) return false
    if (name === 'style' || name === 'default-style') {
      const family = attribute('family') ?? ''
      const parent = attribute('parent-style-name')
      this.#style = {
        key:
          name === 'style'
            ? keyOf(this.#scope, family, attribute('name') ?? '')
            : keyOf('default', family, ''),
        family,
        parent: parent === null ? null : keyOf('common', family, parent),
        isHidden: null,
      }
    } else if (this.#style !== null && name === PROPERTIES[this.#style.family]) {
      this.#style.isHidden = hidesWhatHasIt(element) ?? this.#style.isHidden
    }
    return true
  }

  /** Returns whether the element was within the section. */
  close(name: string): boolean {
    const wasOpen = this.#isOpen
    if (name === this.#section) this.#isOpen = false
    else if (this.#style !== null && (name === 'style' || name === 'default-style')) {
      if (Object.hasOwn(PROPERTIES, this.#style.family)) {
        this.#chains.add(this.#style.key, this.#style)
      }
      this.#style = null
    }
    return wasOpen
  }
}

function hidesWhatHasIt({ name, attribute }: XmlElement): boolean | null {
  if (name === 'drawing-page-properties') {
    const visibility = attribute('presentation:visibility') ?? attribute('visibility')
    return visibility === null ? null : visibility === 'hidden'
  }
  const prefix = name === TEXT ? 'text' : 'table'
  const display = attribute(`${prefix}:display`) ?? attribute('display')
  if (display === 'true') return false
  return display === 'none' || display === 'false' ? true : null
}

/** Whether this value of `display` hides content on screen. */
export function isUnseen(display: string | null): boolean {
  return display === 'none' || display === 'false' || display === 'printer'
}

/** The key is unambiguous, because XML cannot contain NUL. */
function keyOf(scope: Scope | 'default', family: string, name: string): string {
  return `${scope}\0${family}\0${name}`
}
