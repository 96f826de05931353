// Makes dist/, which leaves this repository: the tools for agent frameworks, next to the SDK and zod, for `npm pack`.

import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const dist = join(here, 'dist')

/** The errors of the SDK are recognized by their classes, which must be those of the program's SDK. */
const withoutSdk: Plugin = {
  name: 'without-sdk',
  setup({ onResolve }) {
    onResolve({ filter: /^@mailroom\/sdk$/ }, ({ path }) => ({ path, external: true }))
  },
}

rmSync(dist, { recursive: true, force: true })
await build({
  absWorkingDir: here,
  entryPoints: ['src/mailroom-tools.ts'],
  outdir: dist,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  bundle: true,
  external: ['zod'],
  plugins: [withoutSdk],
  logLevel: 'warning',
})

const declared = mkdtempSync(join(tmpdir(), 'mailroom-tools-'))
try {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', join(here, 'tsconfig.build.json'), '--outDir', declared]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
  const name = 'mailroom-tools.d.ts'
  const [path = ''] = globSync(`**/tools/src/${name}`, { cwd: declared })
  cpSync(join(declared, path), join(dist, name))
} finally {
  rmSync(declared, { recursive: true, force: true })
}
