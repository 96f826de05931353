// Clients of a service that is killed now and then: they flip the DNS of domains and verify them, bring
// reports of bounces, and release and delete quarantined mail, and remember what was answered.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Domain, type Inbox, type Mailroom, MailroomError } from '@mailroom/sdk'
import type { Dns } from '#test/peers/dns.ts'
import { publish, withdraw } from '#test/scenarios/domain-world.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import type { Random } from './intake.ts'
import type { Service } from './service.ts'

export type Reported = { readonly recipient: string; readonly path: string }

/** What is known of a quarantined message, by its subject, once something was answered. */
export type Fate = 'held' | 'releasing' | 'released' | 'deleting' | 'deleted'

export type Work = {
  readonly service: Service
  readonly dns: Dns
  readonly random: Random
  /** Another account than the service's first. */
  readonly rival: Mailroom
  readonly answered: Reported[]
  readonly fates: Map<string, Fate>
  /** Questions that a kill cut off, and those that found the service away. */
  cut: number
  isStopped: boolean
}

const RETRY_MS = 20
/** Each of the clients asks so often, not as often as it can. */
const GAP_MS = 10
const SPAMMER = 'eve@spam.example'

/** Undefined where the service was away, or ended before its answer came. */
async function attempt<Value>(work: Work, ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask()
  } catch (error) {
    // What was refused is an answer: such as what a question before it, cut off, had done already.
    if (error instanceof MailroomError && error.status < 500) return undefined
    work.cut += 1
    await sleep(RETRY_MS)
    return undefined
  }
}

/** Takes a record of a domain away and puts it back, and asks what the service makes of it. */
export async function flipDomain(work: Work, domain: Domain): Promise<void> {
  const { dns, random, service } = work
  while (!work.isStopped) {
    if (random() < 0.5) withdraw(dns, domain, random() < 0.5 ? 'mx' : 'spf')
    else publish(dns, domain)
    await attempt(work, () => service.client.domains.verify(domain.id))
    await sleep(GAP_MS)
  }
}

/** Domains that two accounts want come, get an inbox, and go again. */
export async function churnDomains(work: Work, { podId }: { podId: string }): Promise<void> {
  const { dns, random, rival, service } = work
  const clients = [service.client, rival]
  for (let number = 0; !work.isStopped; number += 1) {
    const name = `churn${number}.mail-service.dev`
    await Promise.all(
      clients.map(async (client, index) => {
        const isScoped = index === 0 && random() < 0.5
        const input = { domain: name, ...(isScoped && { podId }) }
        const domain = await attempt(work, () => client.domains.create(input))
        if (domain === undefined) return
        publish(dns, domain)
        await attempt(work, () => client.domains.verify(domain.id))
        const place = { domain: name, ...(isScoped && { podId }) }
        const inbox = await attempt(work, () => client.inboxes.create(place))
        if (random() < 0.3) return
        if (inbox !== undefined) await attempt(work, () => client.inboxes.delete(inbox.id))
        await attempt(work, () => client.domains.delete(domain.id))
      }),
    )
    await sleep(GAP_MS)
  }
}

/** As a server does, which keeps a report until it is answered. */
export async function bringReports(work: Work, reports: Reported[]): Promise<void> {
  for (let next = reports.shift(); next !== undefined && !work.isStopped; next = reports.shift()) {
    const { recipient, path } = next
    const raw = bounceMail({ to: path, recipient })
    while (!(await deliver(work, { from: '', to: path, raw })) && !work.isStopped);
    if (!work.isStopped) work.answered.push(next)
  }
}

/** True once it was answered with 250. */
async function deliver(
  work: Work,
  mail: { from: string; to: string; raw: string },
): Promise<boolean> {
  const sender = await work.service.sender().catch(() => null)
  try {
    return (await sender?.send(mail))?.code === 250
  } catch {
    work.cut += 1
    return false
  } finally {
    sender?.socket.destroy()
    await sleep(GAP_MS)
  }
}

/** Blocked mail comes in; once it was taken it may be released. */
export async function bringSpam(work: Work, inbox: Inbox): Promise<void> {
  for (let number = 0; !work.isStopped; number += 1) {
    const subject = `Spam ${number}`
    const head = [`From: ${SPAMMER}`, `To: ${inbox.address}`, `Subject: ${subject}`]
    const lines = [...head, `Message-ID: <${number}@spam.example>`, '', `Buy ${number}`, '']
    const mail = { from: SPAMMER, to: inbox.address, raw: lines.join('\r\n') }
    while (!(await deliver(work, mail)) && !work.isStopped);
    if (!work.isStopped) work.fates.set(subject, 'held')
  }
}

/** Lets some of it in and deletes some, as somebody does who looks through it. */
export async function tendQuarantine(work: Work): Promise<void> {
  const { fates, random, service } = work
  const { quarantine } = service.client
  while (!work.isStopped) {
    const page = await attempt(work, () => quarantine.list({ limit: 10 }).page())
    for (const { id, subject } of page?.data ?? []) {
      // One whose sender has no answer yet may come again.
      if (fates.get(subject) !== 'held') continue
      const isReleased = random() < 0.6
      fates.set(subject, isReleased ? 'releasing' : 'deleting')
      const answer = await attempt(work, async () => {
        await (isReleased ? quarantine.release(id) : quarantine.delete(id))
        return true
      })
      if (answer) fates.set(subject, isReleased ? 'released' : 'deleted')
    }
    await sleep(GAP_MS)
  }
}

/** To the sandbox, which tells the return paths. */
export async function sendToReport(
  { client }: Service,
  inbox: Inbox,
  count: number,
): Promise<Reported[]> {
  const numbers = Array.from({ length: count }, (_, number) => number)
  const left = numbers.values()
  const send = async () => {
    for (const number of left) {
      const to = `bob${number}@far.example`
      await client.inboxes.send(inbox.id, { to, subject: 'A subject', body: 'A body.' })
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
  for (;;) {
    const reports: Reported[] = []
    for await (const { to, reversePath } of client.sandbox.list({ limit: 100 })) {
      reports.push({ recipient: to[0] ?? '', path: reversePath })
    }
    if (reports.length === count) return reports
    assert.ok(reports.length < count)
    await sleep(RETRY_MS)
  }
}
