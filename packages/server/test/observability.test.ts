// The dashboard and the alert rules compared with the program: every figure that they name exists, every expression
// can be parsed, and every alert has a paragraph with its remedy.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, suite, test } from 'node:test'
import { openMetrics } from '#platform/telemetry/metrics.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

/** Words of an expression that are no figures: functions, operators, labels. */
const WORDS: ReadonlySet<string> = new Set([
  ...['sum', 'max', 'count', 'rate', 'increase', 'histogram_quantile', 'by', 'and', 'or'],
  ...[
    'le',
    'route',
    'method',
    'status',
    'outcome',
    'code',
    'instance',
    'thread',
    'duty',
    'state',
    'work',
    'kind',
    'job',
  ],
])

/** Figures of Prometheus itself. */
const OF_PROMETHEUS: ReadonlySet<string> = new Set(['up'])

type Rule = { alert: string; expr: string; runbook: string; labels: string }

/** One level of YAML, as the file is written: keys, and folded lines after `>-`. */
function readRules(text: string): Rule[] {
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((part) => {
      const alert = part.slice(0, part.indexOf('\n')).trim()
      const field = (pattern: RegExp) =>
        pattern.exec(part)?.[1]?.replaceAll(/\s+/g, ' ').trim() ?? ''
      return {
        alert,
        expr: field(/^ {8}expr: (?:>-\n)?([\s\S]*?)\n {8}\w/m),
        labels: field(/^ {8}labels: (.*)$/m),
        runbook: field(/^ {10}runbook: (.*)$/m),
      }
    })
}

type Panel = { id: number; type: string; title: string; targets?: { expr: string }[] }

/** The tokens of an expression; throws at invalid ones, and for brackets that do not match. */
function tokensOf(expr: string): { name: string; isLabel: boolean }[] {
  const token =
    /\s+|"[^"\\]*"|\d+(?:\.\d+)?(?:e\d+)?[smhd]?|\$?[a-zA-Z_]\w*|[=!><]=|[=!]~|[-+*/=><(){}[\],]/y
  const open: string[] = []
  const names: { name: string; isLabel: boolean }[] = []
  const pairs: Record<string, string> = { ')': '(', '}': '{', ']': '[' }
  for (let at = 0; at < expr.length; at = token.lastIndex) {
    token.lastIndex = at
    const [text] = token.exec(expr) ?? []
    if (text === undefined) throw new Error(`No token at "${expr.slice(at)}"`)
    if ('({['.includes(text)) open.push(text)
    const opener = pairs[text]
    if (opener !== undefined) assert.equal(open.pop(), opener, expr)
    if (/^\$?[a-zA-Z_]/.test(text)) names.push({ name: text, isLabel: open.at(-1) === '{' })
  }
  assert.deepEqual(open, [], expr)
  return names
}

suite('figures, dashboard and alerts', () => {
  const rules = readRules(read('deploy/prometheus/alerts.yml'))
  const { panels } = JSON.parse(read('deploy/grafana/mailroom.json')) as { panels: Panel[] }
  const manual = read('docs/operating.md')
  /** Names as exported, those of histograms with their suffixes. */
  const told = new Set<string>()
  const ours = new Set<string>()
  before(async () => {
    const { body } = await (await openMetrics({ includesProcess: true })).render()
    for (const [, name = '', type] of body.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      for (const ending of endings) told.add(name + ending)
      if (name.startsWith('mailroom_')) ours.add(name)
    }
  })

  const check = (expr: string) => {
    const names = tokensOf(expr)
    assert.ok(names.length > 0, expr)
    for (const { name, isLabel } of names) {
      const isKnown =
        WORDS.has(name) ||
        (!isLabel && (told.has(name) || OF_PROMETHEUS.has(name))) ||
        ['$__rate_interval', '$job', '$instance'].includes(name)
      assert.ok(isKnown, `${name} in ${expr}`)
    }
  }

  test('figures are scraped under the names that the alerts use, and with a token', () => {
    const example = read('deploy/prometheus/prometheus.yml')
    const [, job = ''] = /^ {2}- job_name: (\w+)$/m.exec(example) ?? []
    for (const { alert, expr } of rules) {
      for (const [, named] of expr.matchAll(/\bjob="(\w+)"/g)) assert.equal(named, job, alert)
    }
    assert.match(
      example,
      /^ {4}authorization:\n {6}type: Bearer\n(?: {6}#.*\n)? {6}credentials_file: \//m,
    )
    assert.match(example, /^rule_files: \[alerts\.yml\]$/m)
  })

  test('every alert uses existing figures', () => {
    assert.ok(rules.length >= 20)
    for (const { expr } of rules) check(expr)
  })

  test('every panel uses existing figures', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    const targets = panels.flatMap(({ type, title, targets = [] }) => {
      assert.equal(type === 'row', targets.length === 0, title)
      return targets
    })
    for (const { expr } of targets) check(expr)
  })

  test('every alert has a severity and a paragraph of the manual with its remedy', () => {
    const section = manual.slice(manual.indexOf('\n## When an alert fires'))
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    for (const { alert, labels, runbook } of rules) {
      assert.match(labels, /^\{ severity: (?:critical|warning|info) \}$/, alert)
      assert.equal(runbook, `docs/operating.md#${alert.toLowerCase()}`)
      const paragraph = new RegExp(`^### ${alert}\\n\\n([^#]{100,})`, 'm').exec(section)
      assert.ok(paragraph !== null, alert)
    }
    const headings = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    assert.deepEqual(headings.sort(), rules.map(({ alert }) => alert).sort())
  })

  test('the manual explains every figure and no others', () => {
    const explained = new Set([...manual.matchAll(/`(mailroom_[a-z_]+)/g)].map(([, name]) => name))
    for (const name of ours) assert.ok(explained.has(name), name)
    for (const name of explained) assert.ok(told.has(name ?? '') || ours.has(name ?? ''), name)
  })

  test('every figure of the service is on the dashboard', () => {
    const shown = JSON.stringify(panels)
    for (const name of ours) assert.ok(shown.includes(name), name)
  })
})
