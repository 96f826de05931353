// Makes dist/: the files that the service serves at /clients/.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { npmTarballOf } from '#npm-package.ts'
import { wheelOf } from '#wheel.ts'

const packages = fileURLToPath(new URL('../..', import.meta.url))
const here = join(packages, 'clients')
const dist = join(here, 'dist')

await Promise.all(
  ['sdk', 'tools', 'cli'].map((name) =>
    promisify(execFile)(process.execPath, [join(packages, name, 'build.ts')]),
  ),
)
const wheel = wheelOf(join(packages, 'sdk-python'))
const files = {
  'mailroom-sdk.tgz': await npmTarballOf(join(packages, 'sdk')),
  'mailroom-tools.tgz': await npmTarballOf(join(packages, 'tools')),
  'mailroom-cli.tgz': await npmTarballOf(join(packages, 'cli')),
  [wheel.name]: wheel.content,
}

// Two builds at the same time leave one whole folder.
const made = await mkdtemp(join(here, '.dist-'))
const old = `${made}.old`
try {
  for (const [name, content] of Object.entries(files)) await writeFile(join(made, name), content)
  // Another user may run the service.
  await chmod(made, 0o755)
  await rename(dist, old).catch(() => {})
  await rename(made, dist).catch(() => {})
} finally {
  await rm(made, { recursive: true, force: true })
  await rm(old, { recursive: true, force: true })
}
