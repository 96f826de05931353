// The entry of `npm run check:deploy`: runs Dockerfile, the compose files and the units on this machine without a
// container engine. Needs Linux and root for mounts, and npm's cache or the network for installing.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listContext } from './build-context.ts'
import { buildImages } from './build-image.ts'
import { checkCompose } from './check-compose.ts'
import { checkUnit } from './check-unit.ts'
import { readDockerfile } from './read-dockerfile.ts'

const root = new URL('../../../../', import.meta.url).pathname
const startMs = performance.now()

if (process.platform !== 'linux' || process.getuid?.() !== 0) {
  console.error('check:deploy makes mounts, which takes Linux and root; nothing was checked.')
  process.exit(1)
}
process.umask(0o022)
const [given] = process.argv.slice(2)
if (given === undefined) await enter()
else await check(given)

/**
 * Starts itself again with a file system of its own for build results, because layers may not be within the system
 * below them, and with a process namespace, so that no process outlives it.
 */
async function enter(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'mailroom-deploy-'))
  const script = 'mount -t tmpfs -o size=3g,mode=755 tmpfs "$0" && exec "$@" "$0"'
  const again = [process.execPath, import.meta.filename]
  const apart = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child']
  const args = [...apart, '--mount-proc', 'sh', '-c', script, scratch, ...again]
  const child = spawn('unshare', args, { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill('SIGKILL'))
  }
  const [status] = await once(child, 'exit')
  rmSync(scratch, { recursive: true, force: true })
  process.exitCode = Number(status ?? 1)
}

async function check(scratch: string): Promise<void> {
  const stages = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'))
  const [build, run] = stages
  if (build === undefined || run === undefined) throw new Error('The Dockerfile has no two stages.')
  tell('The base images are stood in for by this machine’s system and the Node.js of package.json.')
  tell(
    'Not done: the stage backup, which installs a package of Debian; the proxy; limits of cgroups.',
  )
  const images = await buildImages(
    {
      root,
      scratch,
      stages,
      context: listContext(root, readFileSync(join(root, '.dockerignore'), 'utf8')),
      bases: {
        [build.base]: { '/usr/local/bin/node': process.execPath },
        [run.base]: {},
      },
      tell,
    },
    ['build', 'run', 'service'],
  )
  const image = images.get('service')
  if (image === undefined) throw new Error('The Dockerfile has no stage service.')
  const size = execFileSync('du', ['-sm', ...image.layers], { encoding: 'utf8' })
  tell(`MB above the base image: ${size.trim().split('\n').map(Number.parseFloat).join(' + ')}`)
  const options = { root, scratch, image, tell }
  for (const file of ['compose.sqlite.yaml', 'compose.yaml']) await checkCompose(options, file)
  await checkUnit(options)
  tell('All of it works.')
}

function tell(text: string): void {
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  console.log(`${seconds.padStart(6)} s  ${text}`)
}
