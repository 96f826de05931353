// The entry of `npm run check:chart`: renders the Helm chart and checks the result against the types of the
// Kubernetes API and the settings of the program. Needs Go and Sprig (Debian: golang-go,
// golang-github-masterminds-sprig-dev) and npm's cache or the network.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { readSettings } from '#config/read-settings.ts'

const root = new URL('../../../../', import.meta.url).pathname
const chart = join(root, 'deploy/helm')
const scratch = mkdtempSync(join(tmpdir(), 'mailroom-chart-'))

type Values = Record<string, unknown>
const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values
const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'))
const isValid = new Ajv({ strict: false }).compile({ ...schema, $schema: undefined })

const cases: Record<string, Values> = {
  'the default values': {},
  'PostgreSQL, three processes and a certificate': {
    replicas: 3,
    database: { isPostgres: true },
    tls: { secretName: 'mail-tls' },
    storage: { size: '5Gi', className: 'fast' },
    smtp: { type: 'LoadBalancer', port: 25, annotations: { 'example.com/keep-source': 'true' } },
    settings: { MAILROOM_INBOX_DOMAIN: 'a.example', MAILROOM_LIMIT_SENDS_PER_MINUTE: '100' },
  },
}
const refused: Record<string, Values> = {
  'two processes without PostgreSQL': { replicas: 2 },
  'a setting that is not text': { settings: { MAILROOM_LIMIT_SENDS_PER_MINUTE: 100 } },
  'an unknown value': { replica: 1 },
}

type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } }
type Resource = {
  apiVersion: string
  kind: string
  spec: { template: { spec: { containers: [{ env: Variable[] }] } } }
}

const SECRETS: Record<string, string> = {
  'secret-key': 'a'.repeat(64),
  'admin-token': 'x'.repeat(48),
  'api-key': `mr_${'k'.repeat(48)}`,
  'database-url': 'postgres://mailroom:secret@postgres:5432/mailroom',
}

try {
  for (const [name, values] of Object.entries(refused)) {
    assert.equal(isValid({ ...defaults, ...values }), false, name)
  }
  const rendered = Object.entries(cases).flatMap(([name, values]) => render(name, values))
  checkTypes(rendered)
  console.log(
    `The chart is right: ${rendered.length} resources in ${Object.keys(cases).length} cases.`,
  )
} finally {
  rmSync(scratch, { recursive: true })
}

function render(name: string, values: Values): Resource[] {
  const all = { ...defaults, ...values }
  assert.ok(isValid(all), `${name}: ${JSON.stringify(isValid.errors)}`)
  const file = join(scratch, 'values.json')
  writeFileSync(file, JSON.stringify(all))
  const program = join(import.meta.dirname, 'render-chart.go')
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' }
  const text = execFileSync('go', ['run', program, chart, file], { encoding: 'utf8', env })
  const resources = parseAllDocuments(text, { merge: true }).flatMap((document) => {
    assert.deepEqual(document.errors, [], name)
    return (document.toJS() as Resource | null) ?? []
  })
  for (const { kind, spec } of resources) {
    if (kind === 'StatefulSet') checkSettings(name, spec.template.spec.containers[0].env)
  }
  return resources
}

function checkSettings(name: string, variables: readonly Variable[]): void {
  const env = Object.fromEntries(
    variables
      // The files exist only in the container.
      .filter((one) => !one.name.startsWith('MAILROOM_TLS_'))
      .map(({ name, value, valueFrom }) => [
        name,
        value ?? SECRETS[valueFrom?.secretKeyRef.key ?? ''],
      ]),
  )
  const reading = readSettings(env)
  assert.deepEqual(reading.warnings, [], name)
  if (reading.kind === 'mistakes') assert.fail(`${name}: ${JSON.stringify(reading.mistakes)}`)
}

/** TypeScript refuses fields that the type of a literal does not have. */
function checkTypes(resources: readonly Resource[]): void {
  const install = [
    'install',
    '--prefix',
    scratch,
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    'kubernetes-models@5',
  ]
  execFileSync('npm', install, { stdio: ['ignore', 'ignore', 'inherit'] })
  const literals = resources.map((resource, index) => {
    const { apiVersion, kind } = resource
    return `import type { I${kind} as Type${index} } from 'kubernetes-models/${apiVersion}/${kind}'
export const resource${index}: Type${index} = ${JSON.stringify(resource, null, 2)}`
  })
  writeFileSync(join(scratch, 'resources.ts'), literals.join('\n'))
  const compiler = join(root, 'node_modules/.bin/tsc')
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'esnext',
  ]
  execFileSync(compiler, [...flags, 'resources.ts'], { cwd: scratch, stdio: 'inherit' })
}
