// An account in use: inboxes, threads, domains, webhooks and the rest, so that every page has content; and the path
// of each page.

import { setTimeout as sleep } from 'node:timers/promises'
import { Mailroom } from '@mailroom/sdk'
import { SERVICE_KEY } from '@mailroom/server/test/crash/service.ts'
import { connectAssistant } from '@mailroom/server/test/scenarios/oauth-client.ts'
import type { Page } from 'playwright-core'
import {
  type ConsoleWorld,
  chooseInMenu,
  htmlMail,
  plainMail,
} from '#test/browser/console-world.ts'

export type Shown = {
  path: string
  /** Matches once the page has loaded. */
  ready: string
  act?: (page: Page) => Promise<void>
}

type Pages = Readonly<Record<string, Shown>>

export type Furnished = {
  readonly pages: Pages
  /** Makes an approver and holds a message; from then on, policy and rules are read-only for a key. */
  guard(): Promise<Pages>
}

const people = [
  [
    'Maya Lindqvist <maya@northwind.example>',
    'Invoice 2041 is overdue',
    'Hi,\r\nour records show that invoice 2041 of 12 October is still open. Could you look into it?\r\n\r\nBest,\r\nMaya',
  ],
  [
    'GitHub <noreply@github.example>',
    '[mailroom] Run failed: ci on main',
    'The workflow ci failed on main. See the log for details.',
  ],
  [
    'Jonas Weber <jonas.weber@hafenbau.example>',
    'Angebot für die Dachsanierung',
    'Guten Tag,\r\nanbei unser Angebot. Wir freuen uns auf Ihre Antwort.\r\n\r\nMit freundlichen Grüßen\r\nJonas Weber',
  ],
  [
    'Acme Accounts <no-reply@acme.example>',
    'Your verification code',
    'Your verification code is 493817.\r\nIt is valid for ten minutes.',
  ],
  [
    '石川 さくら <sakura@ishikawa.example>',
    '会議の日程について',
    'お世話になっております。来週の会議ですが、火曜日の午後はいかがでしょうか。',
  ],
  [
    'Priya Raman <priya@harborlight.example>',
    'Re: Contract draft, second round',
    'Thanks, this looks good to me. One remark on clause 7: the notice period should be thirty days.',
  ],
  [
    'Billing <billing@cloudnine.example>',
    'Receipt for November',
    'We received your payment of $ 48.00. No action is needed.',
  ],
  [
    'Tomás Herrera <tomas@herrera.example>',
    'Visita del jueves',
    '¿Podemos mover la visita al viernes por la mañana?',
  ],
] as const

const newsletter = `<table width="100%" bgcolor="#f4f4f4"><tr><td align="center"><table width="560" bgcolor="#ffffff" cellpadding="24"><tr><td>
<h1 style="color:#1f3a5f;font-family:Georgia,serif">The harbour in winter</h1><img src="https://images.example/header.png" width="512" height="120" alt="The harbour">
<p style="font-family:Arial;font-size:15px;line-height:1.6">This week: the new crane, tides of the month, and a portrait of the pilot who has guided ships for forty years.</p>
<p><a href="https://example.com/read" style="background:#1f3a5f;color:#fff;padding:10px 18px;text-decoration:none">Read on</a></p></td></tr></table></td></tr></table>`

export async function furnish(world: ConsoleWorld): Promise<Furnished> {
  const { client } = world
  const pod = await client.pods.create({ name: 'Customer care', clientId: 'care' })
  const desk = await client.inboxes.create({ mailboxName: 'front-desk', displayName: 'Front Desk' })
  await connectAssistant(
    { baseUrl: world.service.baseUrl, key: SERVICE_KEY },
    { inboxes: [desk.id] },
  )
  const quiet = await client.inboxes.create({ mailboxName: 'billing', podId: pod.id })
  for (const name of ['orders', 'support-eu']) {
    await client.inboxes.create({ mailboxName: name, podId: pod.id })
  }
  for (const [from, subject, text] of people) {
    await world.deliver(desk.address, plainMail({ from, subject, text }))
  }
  await world.deliver(
    desk.address,
    htmlMail({
      from: 'Harbour News <news@harbour.example>',
      subject: 'The harbour in winter',
      html: newsletter,
    }),
  )
  const { data } = await client.messages.list(desk.id).page()
  const maya = data.find(({ subject }) => subject.startsWith('Invoice'))
  const news = data.find(({ bodyHtml }) => bodyHtml !== '')
  if (maya === undefined || news === undefined) throw new Error('Mail is missing.')
  await client.inboxes.reply(desk.id, maya, {
    body: 'Hello Maya,\nthank you for the reminder: it was paid this morning.\n\nFront Desk',
    attachments: [
      {
        filename: 'receipt.txt',
        contentType: 'text/plain',
        data: new TextEncoder().encode('paid'),
      },
    ],
  })
  const domain = await client.domains.create({ domain: 'agents.example.net' })
  const webhook = await client.webhooks.create({ url: 'http://127.0.0.1:9/hooks/mailroom' })
  await client.webhooks.test(webhook.id).catch(() => {})
  await client.suppressions.create({ address: 'gone@northwind.example' })
  await client.senderRules.create({ type: 'block', value: 'spam.example' })
  await client.senderRules.create({
    type: 'allow',
    value: 'ann@northwind.example',
    inboxId: desk.id,
  })
  await world.deliver(
    desk.address,
    plainMail({ from: 'Prize <win@spam.example>', subject: 'You have won', text: 'Click!' }),
    'win@spam.example',
  )
  await client.apiKeys.create({ name: 'Billing agent' })
  const start = await fetch(`${world.service.baseUrl}/auth/cli/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientName: 'mailroom on ada-laptop' }),
  })
  const { userCode = '' } = (await start.json()) as { userCode?: string }
  await world.untilFound(desk.address, 'invoice')
  // The statistics, too, follow receiving.
  while ((await client.stats.get()).totals.received <= people.length) await sleep(100)
  await client.drafts.create(desk.id, { to: 'maya@northwind.example', subject: 'A second thought' })
  const { messageId: waitingId } = await client.inboxes.send(desk.id, {
    to: 'maya@northwind.example',
    subject: 'For next week',
    body: 'See you then.',
    sendAt: new Date(Date.now() + 7 * 86_400_000).toISOString(),
  })
  if (waitingId === undefined) throw new Error('Nothing is scheduled.')
  const thread = (id: string) => `/console/inboxes/${desk.id}/threads/${id}`
  const click = (name: string) => async (page: Page) => {
    await page.getByRole('button', { name, exact: true }).first().click()
    await page.getByRole('dialog').waitFor()
  }
  return {
    pages: {
      overview: {
        path: '/console/',
        ready: '.total',
        act: (page) => page.locator('.plot path').first().waitFor(),
      },
      inboxes: { path: '/console/inboxes', ready: '.table' },
      'inboxes-new': { path: '/console/inboxes', ready: '.table', act: click('New inbox') },
      'threads-none': { path: `/console/inboxes/${quiet.id}`, ready: '.mail-list .empty' },
      gone: { path: '/console/inboxes/inb_nowhere', ready: '.empty' },
      threads: { path: `/console/inboxes/${desk.id}`, ready: '.thread' },
      'threads-filtered': {
        path: `/console/inboxes/${desk.id}?category=personal&label=urgent`,
        ready: '.filter-chips',
        act: async (page) => {
          await page.getByRole('button', { name: 'Filter', exact: true }).click()
          await page.locator('.filters').waitFor()
        },
      },
      thread: {
        path: thread(maya.threadId),
        ready: '.message.open',
        act: (page) => chooseInMenu(page, 'Deliveries'),
      },
      sender: {
        path: thread(maya.threadId),
        ready: '.message.open',
        act: async (page) => {
          const first = page.locator('.message').first()
          await chooseInMenu(page, 'Authentication', first)
        },
      },
      newsletter: { path: thread(news.threadId), ready: 'iframe' },
      headers: {
        path: thread(news.threadId),
        ready: '.message.open',
        act: async (page) => {
          await chooseInMenu(page, 'Headers')
          await page.locator('.header-fields').waitFor()
        },
      },
      compose: {
        path: thread(maya.threadId),
        ready: '.message.open',
        act: async (page) => {
          await page.keyboard.press('r')
          await page.getByRole('region', { name: 'Reply' }).waitFor()
        },
      },
      'message-menu': {
        path: thread(maya.threadId),
        ready: '.message.open',
        act: async (page) => {
          await page.getByRole('button', { name: 'More' }).last().click()
          await page.getByRole('menu').waitFor()
        },
      },
      'compose-new': {
        path: '/console/keys',
        ready: '.table',
        act: async (page) => {
          await page.keyboard.press('c')
          await page.getByLabel('Subject').waitFor()
        },
      },
      palette: {
        path: '/console/keys',
        ready: '.table',
        act: async (page) => {
          await page.keyboard.press('Control+k')
          await page.getByRole('option').first().waitFor()
        },
      },
      'all-mail': { path: '/console/mail', ready: '.thread' },
      'all-mail-thread': {
        path: `/console/mail/${desk.id}/${maya.threadId}`,
        ready: '.message.open',
      },
      scheduled: { path: `/console/inboxes/${desk.id}/scheduled`, ready: '.table, .thread' },
      drafts: { path: `/console/drafts?inbox=${desk.id}`, ready: '.table' },
      policy: { path: '/console/policy', ready: 'main select, main input' },
      'keys-new': { path: '/console/keys', ready: '.table', act: click('New key') },
      'rules-new': { path: '/console/sender-rules', ready: '.table', act: click('New rule') },
      'domains-new': { path: '/console/domains', ready: '.table', act: click('Add domain') },
      search: { path: `/console/search?inbox=${desk.id}&q=invoice`, ready: '.hits, .empty' },
      domains: { path: '/console/domains', ready: '.table' },
      domain: { path: `/console/domains/${domain.id}`, ready: '.records' },
      webhooks: { path: '/console/webhooks', ready: '.table' },
      'webhooks-new': { path: '/console/webhooks', ready: '.table', act: click('New webhook') },
      webhook: {
        path: `/console/webhooks/${webhook.id}`,
        ready: '.tail',
        act: (page) => page.locator('.tail summary').first().click(),
      },
      events: {
        path: '/console/events',
        ready: '.page',
        act: (page) => page.locator('.tail summary').first().click(),
      },
      suppressions: { path: '/console/suppressions', ready: '.table' },
      quarantine: { path: '/console/quarantine', ready: '.table' },
      'quarantine-view': {
        path: '/console/quarantine',
        ready: '.table',
        act: async (page) => {
          await page.getByRole('button', { name: /^View/ }).first().click()
          await page.getByText('Click!').waitFor()
        },
      },
      rules: { path: '/console/sender-rules', ready: '.table' },
      keys: { path: '/console/keys', ready: '.table' },
      connections: { path: '/console/connections', ready: '.table' },
      'connections-cursor': {
        path: '/console/connections',
        ready: '.table',
        act: async (page) => {
          await page.getByRole('tab', { name: 'Cursor' }).click()
          await page.getByRole('link', { name: 'Add to Cursor' }).waitFor()
        },
      },
      sandbox: { path: '/console/sandbox', ready: '.table' },
      'sandbox-view': {
        path: '/console/sandbox',
        ready: '.table',
        act: async (page) => {
          await page.getByRole('button', { name: /^View/ }).first().click()
          await page.getByRole('dialog').getByRole('tab', { name: 'Source' }).click()
          await page.getByRole('region', { name: 'Raw message' }).waitFor()
        },
      },
      transfers: { path: `/console/inboxes/${desk.id}/transfers`, ready: '.empty, .table' },
      settings: { path: '/console/settings', ready: '.limits' },
      pair: { path: `/console/pair?code=${userCode}`, ready: '.pair, .empty' },
      help: {
        path: '/console/keys',
        ready: '.table',
        act: async (page) => {
          await page.keyboard.press('?')
          await page.getByRole('dialog').waitFor()
        },
      },
      missing: { path: '/console/nowhere', ready: '.empty' },
    },
    guard: async () => {
      const review = await holdOne(world, desk.id)
      const approvers = { path: '/console/approvers', ready: '.table' }
      return {
        reviews: { path: '/console/reviews', ready: '.table, .review-row, .panel li' },
        review: { path: `/console/reviews/${review}`, ready: 'iframe, .mail-text, pre' },
        approvers,
        'approvers-new': { ...approvers, act: click('New approver') },
        'policy-read-only': { path: '/console/policy', ready: 'main select, main input' },
        'rules-read-only': { path: '/console/sender-rules', ready: '.table' },
      }
    },
  }
}

/** One message that waits for an approver. */
async function holdOne({ client, service }: ConsoleWorld, inboxId: string): Promise<string> {
  const { token } = await client.approvers.create({ name: 'Ada' })
  const ada = new Mailroom({ baseUrl: service.baseUrl, apiKey: token })
  await ada.policy.replace({ outbound: { guards: { newRecipients: 'hold', secrets: 'hold' } } })
  const sent = await client.inboxes.send(inboxId, {
    to: 'Olu Adeyemi <olu@harborlight.example>',
    subject: 'Access to the staging server',
    body: 'Hello Olu,\n\nthe key is AKIAIOSFODNN7EXAMPLE. Please tell me when you are in.\n\nFront Desk',
  })
  if (sent.hold === undefined) throw new Error('The message is not held.')
  return sent.hold.id
}
