// The rules about who may import whom: the floors table of ARCHITECTURE.md, packages, cycles.

import { posix } from 'node:path'
import type { Finding, ModuleEdge, SourceFile } from './source-file.ts'

export type Floor = {
  /** '*' stands for every floor. */
  readonly mayImport: ReadonlySet<string>
  readonly mayImportTypes: ReadonlySet<string>
}

const SERVER = 'packages/server/src/'
/** Files beside the floors: the composition root and what reads argv. */
const ABOVE_ALL = new Set([
  'app.ts',
  'main.mjs',
  'open-store.ts',
  'open-budgets.ts',
  'open-server-tls.ts',
  'open-health.ts',
  'open-keys.ts',
  'open-instance.ts',
  'open-delivery.ts',
  'open-doors.ts',
  'open-duties.ts',
  'open-schema-watch.ts',
  'open-authenticator.ts',
  'open-blobs.ts',
  'open-ways.ts',
  'open-webhooks.ts',
  'open-console.ts',
  'open-figures.ts',
  'open-readiness.ts',
  'open-tracing.ts',
  'open-work.ts',
  'open-pressure.ts',
])

/** The table under the heading "Floors". Throws when there is none: the rule must not vanish. */
export function readFloors(architecture: string): Map<string, Floor> {
  const section = /^## Floors$([\s\S]*?)^## /m.exec(architecture)?.[1] ?? ''
  const rows = [...section.matchAll(/^\|\s*([a-z]+)\s*\|([^|]*)\|[^|]*\|$/gm)]
  const floors = rows
    .filter(([, name]) => name !== 'floor')
    .map(([, name = '', list = '']) => {
      const entries = list
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
      const types = entries.filter((entry) => entry.endsWith('(types)'))
      const floor: Floor = {
        mayImport: new Set(entries.filter((entry) => !entry.endsWith('(types)'))),
        mayImportTypes: new Set(types.map((entry) => entry.replace(/\s*\(types\)$/, ''))),
      }
      return [name, floor] as const
    })
  if (floors.length === 0) throw new Error('ARCHITECTURE.md has no floors table')
  return new Map(floors)
}

/** Imports of one floor by another that its row does not name at all. */
export function findForbiddenFloors(
  files: readonly SourceFile[],
  floors: ReadonlyMap<string, Floor>,
): Finding[] {
  return findAcross(files, floors, ({ floor, from, to }) => {
    if (floor.mayImport.has('*') || floor.mayImport.has(to)) return null
    if (floor.mayImportTypes.has(to)) return null
    return `${from} may not import ${to}`
  })
}

/** Imports at run time where the row says types only. */
export function findRuntimeImportsOfTypes(
  files: readonly SourceFile[],
  floors: ReadonlyMap<string, Floor>,
): Finding[] {
  return findAcross(files, floors, ({ floor, from, to, edge }) => {
    if (edge.isType || floor.mayImport.has(to) || !floor.mayImportTypes.has(to)) return null
    return `${from} may import types of ${to} only: write import type`
  })
}

/** Folders of the server that the table does not know. */
export function findUnknownFloors(
  files: readonly SourceFile[],
  floors: ReadonlyMap<string, Floor>,
): Finding[] {
  return files.flatMap(({ path }) => {
    const floor = floorOf(path)
    if (floor === null || floors.has(floor) || ABOVE_ALL.has(floor)) return []
    return [{ path, line: 1, message: `${floor} is not in the floors table of ARCHITECTURE.md` }]
  })
}

type Crossing = { floor: Floor; from: string; to: string; edge: ModuleEdge }

function findAcross(
  files: readonly SourceFile[],
  floors: ReadonlyMap<string, Floor>,
  judge: (crossing: Crossing) => string | null,
): Finding[] {
  return files.flatMap((file) => {
    const from = floorOf(file.path)
    const floor = floors.get(from ?? '')
    if (from === null || floor === undefined) return []
    return file.edges.flatMap((edge) => {
      const to = targetFloor(file, edge)
      if (to === null || to === from) return []
      const message = judge({ floor, from, to, edge })
      return message === null ? [] : [{ path: file.path, line: edge.line, message }]
    })
  })
}

/** Floor, file above all floors, or `contract`, `sdk`, `test`; null for libraries. */
function targetFloor(file: SourceFile, edge: ModuleEdge): string | null {
  const { specifier } = edge
  const workspace = /^@mailroom\/([a-z]+)/.exec(specifier)?.[1]
  if (workspace !== undefined) return workspace
  if (specifier.startsWith('#')) return specifier.slice(1).split('/')[0] ?? null
  const target = resolveEdge(file, edge)
  return target === null ? null : floorOf(target)
}

function floorOf(path: string): string | null {
  return path.startsWith(SERVER) ? (path.slice(SERVER.length).split('/')[0] ?? null) : null
}

/** The workspace path that an edge leads to, null for libraries. */
function resolveEdge(file: SourceFile, { specifier }: ModuleEdge): string | null {
  const scoped = /^@mailroom\/([a-z]+)\/(.+)$/.exec(specifier)
  if (scoped !== null) return `packages/${scoped[1]}/src/${scoped[2]}`
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file.path), specifier)
  // `#` is the root of the package that the file is in.
  const own = /^packages\/[a-z]+\//.exec(file.path)?.[0]
  if (own === undefined || !specifier.startsWith('#')) return null
  return specifier.startsWith('#test/')
    ? `${own}test/${specifier.slice(6)}`
    : `${own}src/${specifier.slice(1)}`
}

/** One finding a cycle of run-time imports, told from its first file in order of path. */
export function findCycles(files: readonly SourceFile[]): Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const findings: Finding[] = []
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path)
    if (start !== -1) {
      const round = [...trail.slice(start), path].join(' → ')
      findings.push({ path, line: 1, message: `import cycle ${round}` })
    }
    const file = byPath.get(path)
    if (file === undefined || done.has(path) || start !== -1) return
    for (const edge of file.edges) {
      const target = resolveEdge(file, edge)
      // A worker's URL starts another realm: nothing waits for it.
      if (target !== null && !edge.isType && edge.kind !== 'url') visit(target, [...trail, path])
    }
    done.add(path)
  }
  for (const path of [...byPath.keys()].sort()) visit(path, [])
  return findings
}

/** `../` in imports and worker URLs: a cross-folder import is written `#folder/file.ts`. */
export function findParentImports(files: readonly SourceFile[]): Finding[] {
  return edgesWhere(files, (edge) => {
    const isModule = edge.kind !== 'url' || /\.[cm]?[jt]s$/.test(edge.specifier)
    const isParent = isModule && /(^|\/)\.\.(\/|$)/.test(edge.specifier)
    return isParent ? `${edge.specifier}: write #folder/file.ts` : null
  })
}

/** A computed import cannot be checked against any rule. */
export function findComputedImports(files: readonly SourceFile[]): Finding[] {
  return edgesWhere(files, (edge) =>
    edge.specifier === '' ? 'imports a computed name, which no rule can check' : null,
  )
}

/** `contract` knows nobody of ours, `sdk` only types of the contract; both run anywhere. */
export function findPackageBreaches(files: readonly SourceFile[]): Finding[] {
  return files.flatMap((file) => {
    const name = /^packages\/(contract|sdk)\/src\//.exec(file.path)?.[1]
    if (name === undefined) return []
    return edgesWhere([file], (edge) => judgePackageEdge(name, edge))
  })
}

function judgePackageEdge(name: string, { specifier, isType }: ModuleEdge): string | null {
  if (specifier.startsWith('./') || specifier.startsWith('#')) return null
  if (specifier.startsWith('node:')) return `${name} runs anywhere: no ${specifier}`
  const isOurs = specifier.startsWith('@mailroom/')
  if (name === 'contract') return isOurs ? `contract imports nothing of ours: ${specifier}` : null
  const isContractType = isType && specifier.startsWith('@mailroom/contract/')
  return isContractType ? null : `sdk imports types of the contract only: ${specifier}`
}

/** What `mail` may not know: sockets, disks, processes. */
export function findImpureMail(files: readonly SourceFile[]): Finding[] {
  const mail = files.filter(({ path }) => path.startsWith(`${SERVER}mail/`))
  const impure = /^node:(net|tls|fs|dns|dgram|http|https|http2|child_process|worker_threads|os)\b/
  return edgesWhere(mail, (edge) =>
    impure.test(edge.specifier) ? `mail is pure: no ${edge.specifier}` : null,
  )
}

export function edgesWhere(
  files: readonly SourceFile[],
  judge: (edge: ModuleEdge, file: SourceFile) => string | null,
): Finding[] {
  return files.flatMap((file) =>
    file.edges.flatMap((edge) => {
      const message = judge(edge, file)
      return message === null ? [] : [{ path: file.path, line: edge.line, message }]
    }),
  )
}
