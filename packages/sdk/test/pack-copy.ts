// Packs a package as `npm pack` does, in a copy, so that nothing of the checkout changes.

import { execFile } from 'node:child_process'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The path of the tarball, which is in `folder`. */
export async function packCopy(name: 'cli' | 'sdk' | 'tools', folder: string): Promise<string> {
  const copy = join(folder, 'checkout')
  await mkdir(join(copy, 'packages'), { recursive: true })
  await cp(join(root, 'tsconfig.json'), join(copy, 'tsconfig.json'))
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const one of ['cli', 'clients', 'sdk', 'tools']) {
    await cp(join(root, 'packages', one), join(copy, 'packages', one), {
      recursive: true,
      filter: (path) => !/\/(dist|node_modules)$/.test(path),
    })
  }
  const args = ['pack', '--silent', '--pack-destination', folder]
  const { npm_config_dry_run: _, ...env } = process.env
  const cwd = join(copy, 'packages', name)
  const { stdout } = await promisify(execFile)('npm', args, { cwd, env: { ...env, INIT_CWD: cwd } })
  return join(folder, stdout.trim().split('\n').at(-1) ?? '')
}
