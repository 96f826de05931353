// The run of kinds of mail: how many headers of the project's own set are judged as expected or, of a folder of real
// mail, the category of every message, to be read by a person.

import { firstField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { judgeKind } from '@mailroom/mail/mail-kind.ts'
import { parseMessage } from '#parse-message.ts'
import { messageFiles } from './message-files.ts'
import { type WrittenKind, writtenKinds } from './written-kinds.ts'

/** One wrong message among so many is allowed. */
export const KIND_GOALS = { personalOneIn: 200, replyableOneIn: 500 } as const

type Figure = { readonly judged: number; readonly wrong: number }

export type KindFigures = {
  /** Personal mail: wrong where its category is another one. */
  readonly personal: Figure
  /** Mail of lists, programs and reports: wrong where it may be answered automatically. */
  readonly replyable: Figure
  /** Mail with an expected category other than personal: wrong where it has another one. */
  readonly others: Figure
  /** Personal mail that may be answered automatically: wrong where it may not. */
  readonly answered: Figure
  readonly differences: readonly string[]
}

export function judgeKinds(messages: readonly WrittenKind[]): KindFigures {
  const differences: string[] = []
  const counts = {
    personal: { judged: 0, wrong: 0 },
    replyable: { judged: 0, wrong: 0 },
    others: { judged: 0, wrong: 0 },
    answered: { judged: 0, wrong: 0 },
  }
  for (const message of messages) {
    const { headers } = parseMessage(message.raw)
    const { reversePath, recipient } = message
    const kind = judgeKind(headers, { reversePath, recipients: [recipient] })
    const count = (name: keyof typeof counts, isRight: boolean) => {
      counts[name].judged += 1
      if (isRight) return
      counts[name].wrong += 1
      const rules = kind.reasons.map(({ rule }) => rule).join(' ')
      differences.push(
        `${message.name}: ${name}, ${kind.category}, ${kind.autoReplyable} (${rules})`,
      )
    }
    if (message.category === 'personal') count('personal', kind.category === 'personal')
    else if (message.category !== 'any') count('others', kind.category === message.category)
    if (message.replyable === 'no') count('replyable', !kind.autoReplyable)
    if (message.replyable === 'yes') count('answered', kind.autoReplyable)
  }
  return { ...counts, differences }
}

/** Prints differences and figures; the exit code is 1 when a goal is missed. */
export function runKinds(folder: string | undefined): number {
  if (folder !== undefined) return listKinds(folder)
  const { differences, ...figures } = judgeKinds(writtenKinds())
  const lines = Object.entries(figures).map(
    ([name, { judged, wrong }]) => `${name}: ${wrong} wrong of ${judged}`,
  )
  process.stdout.write(`${[...differences, '', ...lines].join('\n')}\n`)
  return isGood(figures) ? 0 : 1
}

export function isGood({ personal, replyable }: Omit<KindFigures, 'differences'>): boolean {
  return (
    personal.wrong * KIND_GOALS.personalOneIn <= personal.judged &&
    replyable.wrong * KIND_GOALS.replyableOneIn <= replyable.judged
  )
}

function listKinds(folder: string): number {
  for (const { path, raw } of messageFiles(folder)) {
    const { headers } = parseMessage(raw)
    const noted = firstField(readHeaderSection(raw).fields, 'return-path')
    const reversePath = noted?.replace(/^<|>$/g, '') ?? 'unknown@example.org'
    const { category, reasons, autoReplyable } = judgeKind(headers, { reversePath, recipients: [] })
    const rules = reasons.map(({ rule }) => rule).join(' ')
    process.stdout.write(
      `${category}\t${autoReplyable}\t${path}\t${rules}\t${headers.subject.slice(0, 60)}\n`,
    )
  }
  return 0
}
