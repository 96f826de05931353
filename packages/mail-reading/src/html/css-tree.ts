import { createRequire } from 'node:module'

declare module 'css-tree' {
  interface Lexer {
    /** Compiles the grammar once, so that `match` does not parse it again. */
    createDescriptor(syntax: string, type: 'Type', name: string): DSNode
  }
}

type Library = typeof import('css-tree')

const load = createRequire(import.meta.url)
let loaded: Library | null = null

/**
 * Loads the library with the first style, because its tables take about 30 ms and 6 MB. The bundle
 * is one file with the same code; loading the package's many files takes three times as long and
 * twice the memory.
 */
export function cssTree(): Library {
  loaded ??= load('css-tree/dist/csstree.esm') as Library
  return loaded
}
