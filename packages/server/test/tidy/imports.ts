// Rules about imports; the linter finds imports that go in a circle.

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

/** What each package may import of the others. */
const PACKAGE_IMPORTS: Readonly<Record<string, RegExp>> = {
  contract: /^$/,
  mail: /^$/,
  'mail-reading': /^@mailroom\/mail\//,
  smtp: /^@mailroom\/mail\//,
  sdk: /^@mailroom\/contract\//,
  tools: /^@mailroom\/(contract\/|mail\/|sdk(\/|$))/,
}
/** They run anywhere, and the SDK without the contract. */
const PORTABLE = ['contract', 'sdk']

export function findPackageBreaches(files: readonly SourceFile[]): Finding[] {
  return edgesWhere(files, ({ specifier, isType }, { path }) => {
    const name = /^packages\/([\w-]+)\/src\//.exec(path)?.[1] ?? ''
    const permitted = PACKAGE_IMPORTS[name]
    if (permitted === undefined) return null
    const isPlatform = specifier.startsWith('node:') && PORTABLE.includes(name)
    const isForeign = specifier.startsWith('@mailroom/') && !permitted.test(specifier)
    const isLibrary = name === 'sdk' && !/^(\.\/|#|node:)/.test(specifier) && !isType
    return isPlatform || isForeign || isLibrary ? `${name} may not import ${specifier}` : null
  })
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
