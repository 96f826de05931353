// Describes what SPF, DKIM and DMARC prove about a sender, and nothing more.

import type { Authentication, Message } from '@mailroom/sdk'
import { session } from '#data/session.ts'
import { Badge, type Tone } from '#parts/notice.tsx'

type Verdict = { tone: Tone; word: string; sentence: string }

function judgeSender(authentication: Authentication): Verdict {
  const { verifiedFrom, spf, dkim, dmarc } = authentication
  const domain = dmarc.domain ?? 'the domain of the sender'
  if (verifiedFrom) {
    const signed = dkim.some(({ result }) => result === 'pass')
    const proof = signed ? 'Its DKIM signature' : 'Its sending server (SPF)'
    return {
      tone: 'good',
      word: 'Verified',
      sentence: `${proof} proves that this message is from ${domain}.`,
    }
  }
  // Neither simulated mail nor mail over SMTP from this machine has a domain for SPF.
  if (session.value?.isSandbox && spf.domain === null && !isRefuted(authentication)) {
    return {
      tone: 'calm',
      word: 'Not verifiable',
      sentence: `Nothing proves that this message is from ${domain}. Simulated mail cannot be verified, and mail over SMTP needs DNS records of its domain.`,
    }
  }
  if (dmarc.result === 'fail') {
    const wish =
      dmarc.policy === 'reject' || dmarc.policy === 'quarantine'
        ? ` ${domain} asks others to ${dmarc.policy} such mail.`
        : ''
    return {
      tone: 'bad',
      word: 'Not verified',
      sentence: `Nothing proves that this message is from ${domain}: it fails the DMARC policy of that domain.${wish}`,
    }
  }
  if ([spf.result, dmarc.result].includes('temperror')) {
    return {
      tone: 'warn',
      word: 'Unknown',
      sentence: 'DNS did not answer in time, so the sender could not be checked.',
    }
  }
  return {
    tone: 'warn',
    word: 'Not verified',
    sentence: `Nothing proves that this message is from ${domain}: anyone could have sent it.`,
  }
}

function isRefuted({ spf, dkim }: Authentication): boolean {
  return spf.result === 'fail' || dkim.some(({ result }) => result === 'fail')
}

export function SenderBadge({
  message: { authentication },
  isWarning = false,
}: {
  message: Pick<Message, 'authentication'>
  /** Shows only verdicts that a reader should know before reading. */
  isWarning?: boolean
}) {
  if (authentication === null) return null
  const { tone, word } = judgeSender(authentication)
  return isWarning && (tone === 'good' || tone === 'calm') ? null : (
    <Badge tone={tone}>{word}</Badge>
  )
}

const resultTones: Readonly<Record<string, Tone>> = { pass: 'good', fail: 'bad', softfail: 'warn' }

const resultWords: Readonly<Record<string, string>> = {
  none: 'Nothing to check.',
  pass: 'Passed.',
  fail: 'Failed.',
  softfail: 'Probably not authorised, according to the domain.',
  neutral: 'The domain makes no statement.',
  policy: 'Not accepted for policy reasons.',
  temperror: 'DNS did not answer in time.',
  permerror: 'The published record is invalid.',
}

export function SenderTruth({
  message: { authentication },
}: {
  message: Pick<Message, 'authentication'>
}) {
  if (authentication === null) {
    return <p class="muted">Not checked: this message was sent from an inbox of this service.</p>
  }
  const { tone, word, sentence } = judgeSender(authentication)
  const { spf, dkim, dmarc, arc } = authentication
  return (
    <div class="stack">
      <p class="verdict">
        <Badge tone={tone}>{word}</Badge> {sentence}
      </p>
      <dl class="checks">
        <Check
          name="SPF"
          about={`Is the server authorised to send for ${spf.domain ?? 'the envelope sender’s domain'}?`}
          result={spf.result}
        />
        {dkim.length === 0 && (
          <Check name="DKIM" about="Is the message signed by a domain?" result="none" />
        )}
        {dkim.map(({ result, domain, selector }, index) => (
          <Check
            key={index}
            name="DKIM"
            about={`Is the message signed by ${domain ?? 'a domain'}${selector ? ` (key ${selector})` : ''}?`}
            result={result}
          />
        ))}
        <Check
          isCalm={tone === 'calm'}
          name="DMARC"
          about={`Does SPF or DKIM match ${dmarc.domain ?? 'the From address'}?${
            dmarc.policy ? ` Its policy is ${dmarc.policy}.` : ''
          }`}
          result={dmarc.result}
        />
        <Check
          name="ARC"
          about="Do forwarding servers vouch for the message?"
          result={arc.result}
        />
      </dl>
    </div>
  )
}

function Check({
  name,
  about,
  result,
  isCalm = false,
}: {
  name: string
  about: string
  result: string
  /** Failures are ignored here. */
  isCalm?: boolean
}) {
  return (
    <div>
      <dt>
        <strong>{name}</strong> <span class="muted">{about}</span>
      </dt>
      <dd>
        <Badge tone={(isCalm ? undefined : resultTones[result]) ?? 'calm'}>{result}</Badge>
        <span class="muted">{resultWords[result]}</span>
      </dd>
    </div>
  )
}
