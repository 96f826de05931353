// Checks the DNS records of a domain, once or until it is verified.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Domain, MailroomError } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { readDurationMs } from '#base/read-input.ts'
import { findId, openSession } from '#base/session.ts'
import { show } from '#base/show.ts'
import type { CommonOptions } from './run-operation.ts'

export type VerifyOptions = CommonOptions & {
  readonly wait?: true
  readonly timeout: string
  readonly interval: string
}

const INTERVAL_MS_MIN = 1_000

export async function verifyDomain(text: string, options: VerifyOptions): Promise<void> {
  const timeoutMs = readDurationMs(options.timeout)
  const intervalMs = Math.max(INTERVAL_MS_MIN, readDurationMs(options.interval))
  const output = openOutput({ isColored: options.color })
  const session = await openSession(options)
  const id = await findId(session, 'domain', text)
  const endMs = performance.now() + timeoutMs
  const verify = () => session.client.domains.verify(id)
  let domain = await verify()
  while (options.wait && domain.status !== 'verified' && performance.now() < endMs) {
    showProgress(output, domain)
    await sleep(Math.min(intervalMs, Math.max(0, endMs - performance.now())))
    domain = await verify().catch((error) => {
      // Other checks of the account are running, so this waits for the next round.
      if (error instanceof MailroomError && error.status === 429) return domain
      throw error
    })
  }
  if (options.json) output.json(domain)
  else show(output, { kind: 'domain' }, domain)
  if (!options.wait || domain.status === 'verified') return
  const missing = domain.records.filter(({ required, status }) => required && status !== 'valid')
  const names = missing.map(({ type, name }) => `${type} ${name}`).join(', ')
  throw new Failure(
    'timeout',
    `${domain.domain} is ${domain.status} after ${options.timeout}.`,
    `DNS does not have these yet: ${names}. Records that were just published may take an hour.`,
  )
}

function showProgress(output: Output, { domain, status, records }: Domain): void {
  const required = records.filter((record) => record.required)
  const valid = required.filter((record) => record.status === 'valid')
  output.progress(
    `${domain} is ${status}: DNS has ${valid.length} of ${required.length} required records …`,
  )
}
