import { createRequire } from 'node:module'

declare module 'css-tree' {
  interface Lexer {
    /** The grammar in a form that `match` takes without reading it again. */
    createDescriptor(syntax: string, type: 'Type', name: string): DSNode
  }
}

type Library = typeof import('css-tree')

const load = createRequire(import.meta.url)
let loaded: Library | null = null

/**
 * Loaded with the first style: its tables take some 30 ms and 6 MB. The bundle has the same code in one file; to load
 * the many files of the package takes three times as long, and twice the memory.
 */
export function cssTree(): Library {
  loaded ??= load('css-tree/dist/csstree.esm') as Library
  return loaded
}
