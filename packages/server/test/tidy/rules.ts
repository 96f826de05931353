// The rules about one file at a time: size, shape, words and names.

import { basename, dirname } from 'node:path'
import { edgesWhere } from './imports.ts'
import { type Finding, findAll, lineAt, type SourceFile } from './source-file.ts'

export const FILE_LINES_MAX = 700
export const FUNCTION_LINES_MAX = 70

export function findLongFiles(
  files: readonly SourceFile[],
  exceptions: Readonly<Record<string, string>>,
): Finding[] {
  const found = files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    const isException = path in exceptions
    if (lines > FILE_LINES_MAX && !isException) {
      return [{ path, line: lines, message: `has ${lines} lines, over ${FILE_LINES_MAX}` }]
    }
    if (lines <= FILE_LINES_MAX && isException) {
      return [{ path, line: 1, message: 'needs no exception any more' }]
    }
    return []
  })
  const paths = new Set(files.map(({ path }) => path))
  const gone = Object.keys(exceptions).filter((path) => !paths.has(path))
  return [...found, ...gone.map((path) => ({ path, line: 1, message: 'an exception for no file' }))]
}

/** Relies on the formatter: a declaration ends with a brace at its own indentation. */
export function findLongFunctions(
  files: readonly SourceFile[],
  exceptions: Readonly<Record<string, string>>,
): Finding[] {
  return files.flatMap(({ path, code }) => {
    const lines = code.split('\n')
    return lines.flatMap((text, index) => {
      const head = /^(\s*)(?:export )?(?:async )?function\*? ([\w$]+)/.exec(text)
      if (head === null || /\}\s*$/.test(text)) return []
      const end = lines.indexOf(`${head[1]}}`, index)
      const length = end - index + 1
      if (length <= FUNCTION_LINES_MAX || `${path} ${head[2]}` in exceptions) return []
      const message = `${head[2]} has ${length} lines, over ${FUNCTION_LINES_MAX}`
      return [{ path, line: index + 1, message }]
    })
  })
}

export function findDefaultExports(files: readonly SourceFile[]): Finding[] {
  const expression = /\bexport\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/g
  return findAll(files, 'code', expression, () => 'default export: name it')
}

/** A file that only re-exports, or re-exports everything of another file. */
export function findBarrels(files: readonly SourceFile[]): Finding[] {
  return files.flatMap((file) => {
    const all = /\bexport\s+(type\s+)?\*/.exec(file.code)
    if (all !== null) {
      const line = lineAt(file.text, all.index)
      return [{ path: file.path, line, message: 'export * makes a barrel' }]
    }
    const isPassingOn = file.edges.some((edge) => edge.isReexport)
    const declares = /\b(function|const|let|class|type\s+[\w$]+\s*[=<]|interface)\b/.test(file.code)
    return isPassingOn && !declares ? [{ path: file.path, line: 1, message: 'is a barrel' }] : []
  })
}

export const FRONT_NAMES_MAX = 15

/** A front of which other folders use more names does not say what they may rely on. */
export function findWideFronts(
  files: readonly SourceFile[],
  isFront: (path: string) => boolean,
): Finding[] {
  const used = new Map<string, Set<string>>()
  for (const { path, text } of files) {
    for (const [, list = '', target = ''] of text.matchAll(IMPORTED_NAMES)) {
      const front = `packages/server/src/${target}`
      if (!isFront(front) || front.split('/')[3] === path.split('/')[3]) continue
      const names = list.split(',').map((name) => name.trim().replace(/^type | as .*/g, ''))
      used.set(front, new Set([...(used.get(front) ?? []), ...names.filter(Boolean)]))
    }
  }
  return [...used].flatMap(([path, { size }]) =>
    size <= FRONT_NAMES_MAX
      ? []
      : [{ path, line: 1, message: `others use ${size} names, over ${FRONT_NAMES_MAX}` }],
  )
}

const IMPORTED_NAMES = /^import (?:type )?\{([^}]*)\} from '#([^']+)'/gm

/** A file is found by its folder and its noun: no suffix, and no name that is one letter from another. */
export function findUnclearNames(paths: readonly string[]): Finding[] {
  return paths.flatMap((path) => {
    const isRows = path.endsWith('-rows.ts')
    const twin = paths.find((other) => isTwinOf(path, other) && dirname(path) === dirname(other))
    if (!isRows && twin === undefined) return []
    return [{ path, line: 1, message: isRows ? 'has a suffix' : `is one letter from ${twin}` }]
  })
}

/** Whether `long` is `short` with one letter more or another one. */
function isTwinOf(long: string, short: string): boolean {
  const over = long.length - short.length
  if (long === short || over < 0 || over > 1) return false
  let start = 0
  while (start < short.length && long[start] === short[start]) start += 1
  return long.slice(start + 1) === short.slice(start + 1 - over)
}

export type BannedWord = {
  readonly word: RegExp
  /** Paths in which it is permitted. */
  readonly home: RegExp
  readonly reason: string
}

export function findBannedWords(
  files: readonly SourceFile[],
  banned: readonly BannedWord[],
): Finding[] {
  return banned.flatMap(({ word, home, reason }) => {
    const outside = files.filter(({ path }) => !home.test(path))
    return findAll(outside, 'code', new RegExp(word, 'g'), (match) => `${match}: ${reason}`)
  })
}

export type KeptLibrary = {
  readonly library: string
  readonly home: RegExp
  /** Files that may import it. */
  readonly files: number
}

/** A library that few files import is easy to replace. */
export function findStrayLibraries(
  files: readonly SourceFile[],
  kept: readonly KeptLibrary[],
): Finding[] {
  return kept.flatMap(({ library, home, files: filesMax }) => {
    const isIt = (name: string) => name === library || name.startsWith(`${library}/`)
    const importing = files.filter((file) => file.edges.some((edge) => isIt(edge.specifier)))
    const strays = edgesWhere(
      importing.filter((file) => !home.test(file.path)),
      (edge) => (isIt(edge.specifier) ? `${library} is imported in ${home.source} only` : null),
    )
    const atHome = importing.filter((file) => home.test(file.path)).map(({ path }) => path)
    const message = `${library} is imported by more than ${filesMax} file(s): ${atHome.join(', ')}`
    const tooMany = atHome.slice(filesMax).map((path) => ({ path, line: 1, message }))
    return [...strays, ...tooMany]
  })
}

const VAGUE = /^(utils?|helpers?|commons?|managers?|misc|shared|stuff)$/

export function findBadNames(paths: readonly string[]): Finding[] {
  return paths.flatMap((path) => {
    const stem = basename(path).replace(/\..*$/, '')
    const words = path.split('/').flatMap((part) => part.replace(/\..*$/, '').split('-'))
    const vague = words.find((word) => VAGUE.test(word))
    if (vague !== undefined) return [{ path, line: 1, message: `"${vague}" says nothing` }]
    const isKebab = /^[a-z0-9]+(-[a-z0-9]+)*$/.test(stem)
    return isKebab ? [] : [{ path, line: 1, message: 'is not named in kebab-case' }]
  })
}

export function findLeftovers(files: readonly SourceFile[]): Finding[] {
  return findAll(
    files,
    'text',
    /\b(TODO|FIXME|XXX|HACK)\b/g,
    (match) => `${match}: do it or drop it`,
  )
}

export function findTypeEscapes(files: readonly SourceFile[]): Finding[] {
  const inCode = /\bas\s+any\b|:\s*any\b|<any>|\bas\s+unknown\s+as\b/g
  const inComments = /@ts-(ignore|nocheck|expect-error)|\bbiome-ignore\b|\beslint-disable\b/g
  return [
    ...findAll(files, 'code', inCode, (match) => `${match}: escapes the types`),
    ...findAll(files, 'comments', inComments, (match) => `${match}: silences a check`),
  ]
}

export type PlainFile = { readonly path: string; readonly text: string }

const MACHINE_PATH = /(?<![\w.~:/-])\/(?:home|Users|root|work|mnt|workspace)\/[\w.-]+/g
/** URLs of packages in lock files and configuration. */
const REGISTRY = /"resolved":\s*"(https?:\/\/[^/"]+)|\bregistry\s*=\s*(https?:\/\/[^/\s]+)/g
const PUBLIC_REGISTRY = 'https://registry.npmjs.org'

/** Paths of a checkout, or registries of packages, on one machine. */
export function findMachineTraces(files: readonly PlainFile[]): Finding[] {
  return files.flatMap(({ path, text }) => {
    const paths = [...text.matchAll(MACHINE_PATH)].map((match) => ({
      path,
      line: lineAt(text, match.index),
      message: `${match[0]}: a path of one machine`,
    }))
    const registries = [...text.matchAll(REGISTRY)]
      .filter((match) => (match[1] ?? match[2]) !== PUBLIC_REGISTRY)
      .map((match) => ({
        path,
        line: lineAt(text, match.index),
        message: `${match[1] ?? match[2]}: a registry of one machine`,
      }))
    return [...paths, ...registries]
  })
}
