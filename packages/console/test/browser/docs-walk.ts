// The reference page in a browser: its contents and its search lead to operations, it requests nothing from other
// hosts, fits a phone, and axe finds no serious fault in it in either theme. With MAILROOM_SCREENSHOTS its
// screenshots go to that folder.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AxeResults } from 'axe-core'
import { DESK, PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
} from '#test/browser/console-world.ts'

/** One operation of each form, because axe takes half a minute for all of them. */
const PARTS = {
  include: ['nav', '#authentication', '#inboxes\\.send', '#events\\.webSocket', '#errors'],
}
const folder = process.env.MAILROOM_SCREENSHOTS

suite('the reference page', () => {
  let world: ConsoleWorld

  before(async () => {
    world = await openConsoleWorld()
  })
  after(() => world.close())
  beforeEach(async () => {
    await world.page.setViewportSize(DESK)
    await world.open('/docs')
  })
  // A breach of the content security policy is an error in the browser's console.
  afterEach(() => {
    assert.deepEqual(world.complaints, [])
    assert.deepEqual(foreignRequests(world), [])
  })

  test('finds an operation by its title and by a field', async () => {
    const { page } = world
    const search = page.getByRole('searchbox', { name: 'Search operations and fields' })
    const found = page.getByRole('status')
    await search.fill('Download the DNS records')
    await page.locator('article#domains\\.zoneFile').waitFor({ state: 'visible' })
    assert.equal(await found.textContent(), '1 operation')
    assert.equal(await page.locator('article:visible').count(), 1)
    assert.equal(await page.locator('nav li:visible').count(), 1)
    await picture('docs-search')
    await search.fill('includeQuote')
    assert.deepEqual(await shownOperations(), [
      'inboxes.send',
      'inboxes.sendBatch',
      'inboxes.checkSend',
      'drafts.create',
      'drafts.list',
      'drafts.get',
      'drafts.update',
      'drafts.addAttachment',
      'drafts.removeAttachment',
    ])
    await search.fill('no such field anywhere')
    assert.equal(await found.textContent(), '0 operations')
    await search.fill('')
    assert.equal(
      await page.locator('article:visible').count(),
      await page.locator('article').count(),
    )
    assert.ok(await page.getByRole('heading', { name: 'Idempotency' }).isVisible())
  })

  test('scrolls from the contents to an operation, and from an error code to its meaning', async () => {
    const { page } = world
    await page.getByRole('navigation').getByRole('link', { name: 'Wait for a message' }).click()
    await untilAtTop('inboxes.wait')
    await picture('docs-operation')
    await page
      .locator('article#inboxes\\.send')
      .getByRole('link', { name: 'loop_suspected' })
      .click()
    assert.equal(new URL(page.url()).hash, '#error-loop_suspected')
    await page.waitForFunction(() => {
      const top = document.getElementById('error-loop_suspected')?.getBoundingClientRect().top ?? -1
      return top >= 0 && top < innerHeight
    })
  })

  test('fits a phone, whose contents close when an operation is chosen', async () => {
    const { page } = world
    await page.setViewportSize(PHONE)
    await page.reload()
    await picture('docs-phone')
    assert.equal(await page.getByRole('searchbox').isVisible(), false)
    await page.getByText('Contents', { exact: true }).click()
    await page.getByRole('searchbox').fill('')
    await page.getByRole('link', { name: 'Send a message from an inbox' }).first().click()
    await page.getByRole('searchbox').waitFor({ state: 'hidden' })
    await untilAtTop('inboxes.send')
    await picture('docs-phone-operation')
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= PHONE.width, `it is ${width} px wide on a phone`)
  })

  test('has no serious accessibility fault in either theme', async () => {
    const { page } = world
    const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
    await page.evaluate(axe)
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      await picture(`docs-${theme}`)
      // A theme changes nothing but colours.
      const rules = theme === 'dark' ? { runOnly: ['color-contrast'] } : {}
      const results: AxeResults = await page.evaluate(
        (more) => Reflect.get(globalThis, 'axe').run(more.parts, more.rules),
        { parts: PARTS, rules },
      )
      const grave = results.violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(
          ({ id, help, nodes }) =>
            `${id}: ${help} (${nodes
              .slice(0, 5)
              .map(({ html }) => html.slice(0, 200))
              .join(' ; ')})`,
        )
      assert.deepEqual(grave, [], theme)
    }
  })

  function shownOperations(): Promise<string[]> {
    return world.page.locator('article:visible').evaluateAll((all) => all.map(({ id }) => id))
  }

  /** Scrolls the element below the sticky bar of a phone. */
  async function untilAtTop(id: string): Promise<void> {
    await world.page.waitForFunction((wanted) => {
      const top = document.getElementById(wanted)?.getBoundingClientRect().top ?? -1
      return top >= 0 && top < 100
    }, id)
  }

  async function picture(name: string): Promise<void> {
    if (folder !== undefined) await world.page.screenshot({ path: join(folder, `${name}.png`) })
  }
})
