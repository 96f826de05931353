// A package of the checkout as npm installs it: what its build.ts has made, and a package.json for its users.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedFile } from '#packed-file.ts'
import { tarballOf } from '#tarball.ts'

/** The folder must have a `dist/`. */
export function npmTarballOf(folder: string): Promise<Buffer> {
  const manifest = packedManifest(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  const programs = Object.values((manifest.bin ?? {}) as Record<string, string>)
  const paths = ['LICENSE', 'README.md', ...globSync('dist/**/*.*', { cwd: folder }).sort()]
  const files: PackedFile[] = paths.map((path) => ({
    path,
    content: readFileSync(join(folder, path)),
    isProgram: programs.includes(`./${path}`),
  }))
  const content = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  return tarballOf([{ path: 'package.json', content }, ...files])
}

/** npm takes no fields from `publishConfig` itself. The built files need no other package. */
function packedManifest(manifest: Record<string, unknown>): Record<string, unknown> {
  const ofSources = ['private', 'scripts', 'imports', 'dependencies', 'devDependencies']
  const kept = Object.entries(manifest).filter(([name]) => !ofSources.includes(name))
  const { publishConfig, ...packed } = Object.fromEntries(kept)
  return { ...packed, ...(publishConfig as object) }
}
