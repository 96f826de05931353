// Rules about imports that the linter lacks; biome.json says who may import whom.

import type { Finding, ModuleEdge, SourceFile } from './source-file.ts'

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

/** `contract` imports nothing of ours, `sdk` only types of the contract; both run anywhere. */
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

/** Modules that `mail` may not import: sockets, disks, processes. */
export function findImpureMail(files: readonly SourceFile[]): Finding[] {
  const mail = files.filter(({ path }) => /^packages\/mail(-reading)?\/src\//.test(path))
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
