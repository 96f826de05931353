// A source file as the tidy rules see it: its text, its code without comments and strings, and the modules it
// imports.

import { readFileSync } from 'node:fs'
import { type MaskedSource, maskSource } from './mask-source.ts'

export type ModuleEdge = {
  /** As written; '' when it is computed. */
  readonly specifier: string
  readonly kind: 'static' | 'dynamic' | 'url'
  /** `import type` and `export type`, which are erased at run time. */
  readonly isType: boolean
  readonly isReexport: boolean
  /** Counted from 1. */
  readonly line: number
}

export type SourceFile = MaskedSource & {
  /** Relative to the workspace's root, with slashes. */
  readonly path: string
  readonly text: string
  readonly edges: readonly ModuleEdge[]
}

export type Finding = { readonly path: string; readonly line: number; readonly message: string }

export function readSourceFile(root: string, path: string): SourceFile {
  return makeSourceFile(path, readFileSync(root + path, 'utf8'))
}

export function makeSourceFile(path: string, text: string): SourceFile {
  const masked = maskSource(text)
  return { path, text, ...masked, edges: findEdges(text, masked.code) }
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** A finding for every match of `expression` (global) in the `part` of each file. */
export function findAll(
  files: readonly SourceFile[],
  part: 'text' | 'code' | 'comments',
  expression: RegExp,
  describe: (match: string) => string,
): Finding[] {
  return files.flatMap((file) =>
    [...file[part].matchAll(expression)].map((match) => ({
      path: file.path,
      line: lineAt(file.text, match.index),
      message: describe(match[0].trim()),
    })),
  )
}

export function formatFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ path, line, message }) => `  ${path}:${line} ${message}`)
  return `${findings.length} finding(s)\n${lines.join('\n')}`
}

const IMPORT =
  /\bimport\s+(type\s+(?!from\b))?(?:[\w$]+\s*,?\s*)?(?:\{[^{}]*\}|\*\s+as\s+[\w$]+)?\s*\bfrom\s*['"]/g
const EXPORT = /\bexport\s+(type\s+)?(?:\{[^{}]*\}|\*(?:\s+as\s+[\w$]+)?)\s*from\s*['"]/g
const SIDE_EFFECT = /\bimport\s*['"]/g
const DYNAMIC = /\bimport\s*\(\s*(['"`]?)/g
const WORKER_URL = /\bnew\s+URL\s*\(\s*['"](?=\s*['"]\s*,\s*import\.meta\.url)/g

function findEdges(text: string, code: string): ModuleEdge[] {
  const collect = (expression: RegExp, kind: ModuleEdge['kind'], isReexport: boolean) =>
    [...code.matchAll(expression)].map((match) => ({
      specifier: specifierAt(text, match.index + match[0].length),
      kind,
      isType: kind === 'static' && match[1] !== undefined,
      isReexport,
      line: lineAt(text, match.index),
    }))
  return [
    ...collect(IMPORT, 'static', false),
    ...collect(EXPORT, 'static', true),
    ...collect(SIDE_EFFECT, 'static', false),
    ...collect(DYNAMIC, 'dynamic', false),
    ...collect(WORKER_URL, 'url', false),
  ].sort((a, b) => a.line - b.line)
}

/** The rest of the string whose opening quote is before `offset`; '' if there is none. */
function specifierAt(text: string, offset: number): string {
  const quote = text[offset - 1] ?? ''
  if (!`'"\``.includes(quote) || quote === '') return ''
  const specifier = text.slice(offset, text.indexOf(quote, offset))
  return specifier.includes('${') ? '' : specifier
}
