// The corpus of replies: the new text of each, compared with the expected one.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { extractReply } from '#reply/reply-text.ts'

type ReplyCase = {
  readonly id: string
  readonly kind: 'text' | 'html'
  readonly input: string
  readonly expected: string
}

const GOAL_PERCENT = 85

/** Prints differences and the figure; the exit code is 1 below the goal. HTML is not judged. */
export function runReplies(folder: string): number {
  const cases = readFileSync(join(folder, 'cases.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ReplyCase)
    .filter(({ kind }) => kind === 'text')
  const wrong = cases.filter(({ input, expected }) => !isSame(extractReply(input), expected))
  const percent = (100 * (cases.length - wrong.length)) / Math.max(1, cases.length)
  const lines = wrong.map(({ id, input, expected }) => {
    const read = JSON.stringify(extractReply(input)).slice(0, 160)
    return `${id}: expected ${JSON.stringify(expected).slice(0, 160)}, read ${read}`
  })
  const figure = `replies: ${percent.toFixed(2)} % (${cases.length - wrong.length} of ${cases.length}), goal ${GOAL_PERCENT} %`
  process.stdout.write(`${[...lines, '', figure].join('\n')}\n`)
  return cases.length > 0 && percent >= GOAL_PERCENT ? 0 : 1
}

/** White space is not judged. */
function isSame(one: string, other: string): boolean {
  return one.replace(/\s+/g, ' ').trim() === other.replace(/\s+/g, ' ').trim()
}
