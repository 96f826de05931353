// Makes dist/, the program that leaves this repository: JavaScript for Node.js 20 without the server and
// without anything to install, for `npm pack`.

import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { build, type Plugin } from 'esbuild'
import { addRepositoryCommands } from '#commands/repository.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const dist = join(here, 'dist')

const repository = new Command().helpCommand(false)
addRepositoryCommands(repository)
const names = repository.commands.map((command) => command.name())

/** Replaces the commands that need the whole repository by ones that say so. */
const withoutServer: Plugin = {
  name: 'without-server',
  setup({ onResolve }) {
    onResolve({ filter: /^#commands\/repository\.ts$/ }, () => ({
      path: join(here, 'src/packed/repository.ts'),
    }))
  },
}

rmSync(dist, { recursive: true, force: true })
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { mailroom: 'src/packed/main.ts' },
  outdir: dist,
  chunkNames: '[name]-[hash]',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  bundle: true,
  // Each command loads its part.
  splitting: true,
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  plugins: [withoutServer],
  define: { REPOSITORY_COMMANDS: JSON.stringify(names) },
  // Libraries in CommonJS ask for modules of Node.js by `require`.
  banner: {
    js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
  },
})
writeFileSync(join(dist, 'LICENSES.txt'), licencesOf(Object.keys(metafile.inputs)))

/** The licences of the libraries in the program, as they ask for. */
function licencesOf(inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) => {
    const match = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(resolve(here, path))
    return match === null ? [] : [match[0]]
  })
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      const file = globSync('{licen[cs]e,LICEN[CS]E}*', { cwd: folder })[0]
      const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()
      return `${name} ${version} (${license})\n\n${text}\n`
    })
    .join(`\n${'-'.repeat(72)}\n\n`)
}
