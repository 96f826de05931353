// Runs after `npm pack` in a package whose sources run where they are: packs what was built once more, with the
// package.json that its users need, over the first tarball. npm takes no fields from `publishConfig` itself,
// and changing package.json for the time of a pack would break what runs in the checkout meanwhile.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const { INIT_CWD = '.', npm_config_dry_run: isDry, npm_config_pack_destination } = process.env

if (isDry !== 'true') packAgain(resolve(INIT_CWD, npm_config_pack_destination ?? '.'))

function packAgain(destination: string): void {
  const stage = mkdtempSync(join(tmpdir(), 'mailroom-pack-'))
  try {
    for (const name of ['dist', 'README.md', 'LICENSE']) {
      cpSync(name, join(stage, name), { recursive: true })
    }
    const manifest = packedManifest(JSON.parse(readFileSync('package.json', 'utf8')))
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    const args = ['pack', stage, '--pack-destination', destination, '--ignore-scripts', '--silent']
    // The settings of the npm that called are of its own package.
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))
    execFileSync('npm', args, {
      env: Object.fromEntries(env),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/** The built files need no other package. */
function packedManifest(manifest: Record<string, unknown>): Record<string, unknown> {
  const ofSources = ['private', 'scripts', 'imports', 'dependencies', 'devDependencies']
  const kept = Object.entries(manifest).filter(([name]) => !ofSources.includes(name))
  const { publishConfig, ...packed } = Object.fromEntries(kept)
  return { ...packed, ...(publishConfig as object) }
}
