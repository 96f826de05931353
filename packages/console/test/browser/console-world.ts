// A running service in sandbox mode as a person uses it: its console in a browser, mail by SMTP, DNS and a webhook
// receiver of the test, and a record of every request of the browser.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mailroom } from '@mailroom/sdk'
import { SERVICE_KEY, Service } from '@mailroom/server/test/crash/service.ts'
import { type Dns, openDns } from '@mailroom/server/test/peers/dns.ts'
import type { Locator, Page, Request } from 'playwright-core'
import { type Browser, openBrowser, type Window } from '#test/browser/chromium.ts'

export type ConsoleWorld = {
  readonly service: Service
  readonly client: Mailroom
  readonly dns: Dns
  readonly browser: Browser
  readonly page: Page
  /** The URL of every request of any page. */
  readonly requests: readonly string[]
  /** Errors in the console of a page, and uncaught exceptions. */
  readonly complaints: readonly string[]
  open(path: string): Promise<void>
  signIn(path?: string): Promise<void>
  /** Delivers one message by SMTP, from a stranger unless given otherwise. */
  deliver(to: string, raw: string, from?: string): Promise<void>
  /** Waits until the search index, which follows receiving, has the words in so many messages, one unless given. */
  untilFound(address: string, words: string, count?: number): Promise<void>
  close(): Promise<void>
}

type WorldOptions = { env?: Record<string, string>; window?: Window }

/** A page that takes longer hangs; this is not a measurement. */
const WAIT_MS_MAX = 20_000

export async function openConsoleWorld(options: WorldOptions = {}): Promise<ConsoleWorld> {
  const dns = await openDns()
  const { service, browser } = await startBoth(dns, options).catch(async (error) => {
    await dns.close()
    throw error
  })
  const requests: string[] = []
  const complaints: string[] = []
  browser.context.setDefaultTimeout(WAIT_MS_MAX)
  browser.context.on('request', (request: Request) => requests.push(request.url()))
  const page = browser.context.pages()[0] ?? (await browser.context.newPage())
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  const open = async (path: string) => {
    await page.goto(service.baseUrl + path)
  }
  const client = new Mailroom({ baseUrl: service.baseUrl, apiKey: SERVICE_KEY })
  return {
    service,
    client,
    dns,
    browser,
    page,
    requests,
    complaints,
    open,
    async signIn(path = '/console/') {
      await open(path)
      await page.getByLabel('API key').fill(SERVICE_KEY)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
    },
    async deliver(to, raw, from = 'ann@stranger.example') {
      const sender = await service.sender()
      try {
        const reply = await sender.send({ from, to, raw })
        assert.equal(reply.code, 250, reply.lines.join(' '))
      } finally {
        await sender.quit()
      }
    },
    async untilFound(address, words, count = 1) {
      const inbox = (await client.inboxes.list().page()).data.find((one) => one.address === address)
      assert.ok(inbox !== undefined)
      const endMs = performance.now() + WAIT_MS_MAX
      while ((await client.inboxes.search(inbox.id, { q: words }).page()).total < count) {
        assert.ok(performance.now() < endMs, `${words} was not found in time`)
        await sleep(100)
      }
    },
    async close() {
      await browser.close()
      await service.close()
      await dns.close()
    },
  }
}

/** Chooses an entry in the menu of the message, or of the last one that is open. */
export async function chooseInMenu(page: Page, entry: string, message: Locator | null = null) {
  await message?.waitFor()
  const closed = message?.locator('.message-toggle[aria-expanded="false"]')
  if (await closed?.isVisible()) await closed?.click()
  await (message ?? page.locator('.message.open').last())
    .getByRole('button', { name: 'More' })
    .click()
  await page.getByRole('menuitem', { name: entry, exact: true }).click()
}

/** Requests of any page to other hosts, as the browser reports them. */
export function foreignRequests({ requests, service }: ConsoleWorld): string[] {
  const own = [`${service.baseUrl}/`, `blob:${service.baseUrl}/`, 'data:']
  return requests.filter((url) => !own.some((start) => url.startsWith(start)))
}

async function startBoth(
  dns: Dns,
  { env, window }: WorldOptions,
): Promise<{ service: Service; browser: Browser }> {
  const service = await Service.start({
    env: {
      MAILROOM_DNS_SERVERS: dns.server,
      MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
      MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '1000',
      ...env,
    },
  })
  try {
    return { service, browser: await openBrowser(window) }
  } catch (error) {
    await service.close()
    throw error
  }
}

export function plainMail(fields: { subject: string; text: string; from?: string; more?: string }) {
  const { subject, text, from = 'Ann Other <ann@stranger.example>', more = '' } = fields
  const id = `${crypto.randomUUID()}@stranger.example`
  return `From: ${from}\r\nTo: <in@example.com>\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${id}>\r\n${more}Content-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n`
}

export function htmlMail(fields: { subject: string; html: string; from?: string }) {
  const { subject, html, from = 'Ann Other <ann@stranger.example>' } = fields
  const id = `${crypto.randomUUID()}@stranger.example`
  return `From: ${from}\r\nTo: <in@example.com>\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${id}>\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}\r\n`
}
