// Runs after `npm pack` in a package whose sources run where they are, and writes the package that its users need
// over the tarball that npm made. Changing package.json for the time of a pack would break what runs in the
// checkout meanwhile.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { npmTarballOf } from '#npm-package.ts'

const { INIT_CWD = '.', npm_config_dry_run: isDry, npm_config_pack_destination } = process.env

if (isDry !== 'true') {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  const destination = resolve(INIT_CWD, npm_config_pack_destination ?? '.')
  writeFileSync(join(destination, file), await npmTarballOf('.'))
}
