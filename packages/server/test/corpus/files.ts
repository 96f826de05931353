// The corpus of files: the words that other programs find in them, where the machine has these programs, and the time
// that a file takes. What no such program reads has an outcome and a time alone.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { percentile } from '@mailroom/mail-reading/test/corpus/tally.ts'
import { openFileReader } from '#platform/workers/file-reader.ts'

/** Words of each file that the other program finds too, and the reverse. */
const SHARE_MIN = 0.97
const MS_MAX = 10_000

const PROGRAMS: Readonly<Record<string, (path: string) => [program: string, ...given: string[]]>> =
  {
    '.pdf': (path) => ['pdftotext', path, '-'],
    '.docx': (path) => ['docx2txt', path, '-'],
    '.odt': (path) => ['odt2txt', '--width=-1', '--encoding=UTF-8', path],
    '.rtf': (path) => ['catdoc', '-d', 'utf-8', path],
  }

type Sums = { files: number; theirs: number; ours: number; shared: number }

/** Prints figures and differences; resolves with the exit code: 1 where a kind of file shares too few words. */
export async function runFiles(folder: string): Promise<number> {
  const reader = openFileReader()
  const sums = new Map<string, Sums>()
  const timesMs: number[] = []
  const outcomes = new Map<string, number>()
  const differences: string[] = []
  for (const name of readdirSync(folder).sort()) {
    const content = readFileSync(join(folder, name))
    const startMs = performance.now()
    const file = { content, filename: name, contentType: 'application/octet-stream' }
    const { method, text, why } = await reader.read(file, { key: 'corpus' })
    timesMs.push(performance.now() - startMs)
    outcomes.set(method, (outcomes.get(method) ?? 0) + 1)
    const other = textByOther(join(folder, name))
    if (other === null || why !== null) continue
    const found = compare(text, other.text)
    const sum = sums.get(other.program) ?? { files: 0, theirs: 0, ours: 0, shared: 0 }
    sum.files += 1
    for (const key of ['theirs', 'ours', 'shared'] as const) sum[key] += found[key]
    sums.set(other.program, sum)
    const lowest = found.shared / Math.max(1, found.theirs, found.ours)
    if (lowest < SHARE_MIN) differences.push(`${name}: ${percent(lowest)} as ${other.program}`)
  }
  await reader.close()
  const isGood = sums
    .values()
    .every(({ theirs, ours, shared }) => shared >= SHARE_MIN * Math.max(theirs, ours))
  const lines = [
    ...differences,
    '',
    ...sums
      .entries()
      .map(
        ([program, { files, theirs, ours, shared }]) =>
          `${program}: ${files} files, ${theirs} words; found ${percent(shared / theirs)}; of ours it has ${percent(shared / ours)}`,
      ),
    [...outcomes].map(([method, count]) => `${method} ${count}`).join(', '),
    `time of one: p50 ${percentile(timesMs, 0.5).toFixed(0)} ms, p99 ${percentile(timesMs, 0.99).toFixed(0)} ms`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return isGood && timesMs.every((ms) => ms <= MS_MAX) ? 0 : 1
}

/** Null where the machine has no such program, or the program cannot read the file. */
function textByOther(path: string): { program: string; text: string } | null {
  const [program, ...given] = PROGRAMS[extname(path).toLowerCase()]?.(path) ?? []
  if (program === undefined) return null
  try {
    const text = execFileSync(program, given, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return text.trim() === '' ? null : { program, text }
  } catch {
    return null
  }
}

/** Words, however often and in whatever order. */
function compare(ours: string, theirs: string): Omit<Sums, 'files'> {
  const [own, other] = [countWords(ours), countWords(theirs)]
  let shared = 0
  for (const [word, count] of own) shared += Math.min(count, other.get(word) ?? 0)
  const total = (words: Map<string, number>) =>
    words.values().reduce((sum, count) => sum + count, 0)
  return { ours: total(own), theirs: total(other), shared }
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [word] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return counts
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`
}
