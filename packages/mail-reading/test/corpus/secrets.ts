// The run of secrets: precision and recall over the project's own mails.

import { findSecrets, type SecretFinding } from '#secrets/find-secrets.ts'
import { type SecretSample, writtenSecrets } from './written-secrets.ts'

export const SECRET_GOALS = { precisionPercent: 99, recallPercent: 99 } as const

export type SecretFigures = {
  readonly kinds: number
  readonly lookAlikes: number
  readonly expected: number
  readonly found: number
  readonly right: number
  readonly precisionPercent: number
  readonly recallPercent: number
  /** A line for each mail that was read otherwise than expected. */
  readonly differences: readonly string[]
}

/** A finding is right that has the kind and the place of the secret, to the character. */
export function judgeSecrets(samples: readonly SecretSample[]): SecretFigures {
  const differences: string[] = []
  let [found, right] = [0, 0]
  for (const sample of samples) {
    const findings = findIn(sample)
    const same = findings.filter((finding) => isRight(finding, sample))
    found += findings.length
    right += same.length
    if (same.length !== findings.length || same.length !== (sample.kind === null ? 0 : 1)) {
      const shown = findings.map(({ kind, offset, length }) => `${kind} at ${offset}+${length}`)
      const { name, kind, offset, length } = sample
      const wanted = kind === null ? 'none' : `${kind} at ${offset}+${length}`
      differences.push(`${name}: expected ${wanted}, found ${shown.join(', ') || 'none'}`)
    }
  }
  const secrets = samples.filter(({ kind }) => kind !== null)
  return {
    kinds: new Set(secrets.map(({ kind }) => kind)).size,
    lookAlikes: samples.length - secrets.length,
    expected: secrets.length,
    found,
    right,
    precisionPercent: (100 * right) / Math.max(1, found),
    recallPercent: (100 * right) / Math.max(1, secrets.length),
    differences,
  }
}

/** Prints differences and figures; the exit code is 1 below the goals. */
export function runSecrets(): number {
  const figures = judgeSecrets(writtenSecrets())
  const { differences, kinds, expected, lookAlikes, right, found } = figures
  const { precisionPercent, recallPercent } = figures
  const lines = [
    ...differences,
    `${expected} mails with a secret of ${kinds} kinds, ${lookAlikes} look-alikes`,
    `precision ${precisionPercent.toFixed(2)} % (${right} of ${found})`,
    `recall ${recallPercent.toFixed(2)} % (${right} of ${expected})`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  const { precisionPercent: precisionMin, recallPercent: recallMin } = SECRET_GOALS
  return precisionPercent >= precisionMin && recallPercent >= recallMin ? 0 : 1
}

function findIn({ part, text }: SecretSample): readonly SecretFinding[] {
  const at = (name: string) => (part === name ? text : '')
  const file = { filename: 'notes.txt', contentType: 'text/plain', content: Buffer.from(text) }
  const attachments = part === 'attachment:0' ? [file] : []
  const mail = { subject: at('subject'), text: at('bodyText'), html: at('bodyHtml'), attachments }
  return findSecrets(mail) ?? []
}

function isRight(finding: SecretFinding, { kind, part, offset, length }: SecretSample): boolean {
  return (
    finding.kind === kind &&
    finding.part === part &&
    finding.offset === offset &&
    finding.length === length
  )
}
