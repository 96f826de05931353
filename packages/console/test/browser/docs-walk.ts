// The documentation in a browser: its contents and its search lead to operations and guides, it requests nothing
// from other hosts, fits a phone, and axe finds no serious fault in it in either theme. With MAILROOM_SCREENSHOTS its
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

/** One page of each form. */
const PAGES = [
  '/docs',
  '/docs/api/events',
  '/docs/api/errors',
  '/docs/quickstart',
  '/docs/search?q=send',
]
const folder = process.env.MAILROOM_SCREENSHOTS

suite('the documentation', () => {
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

  test('finds an operation, and leads to it', async () => {
    const { page } = world
    const search = page.getByRole('searchbox', { name: 'Search the documentation' })
    await search.fill('download the DNS records')
    await search.press('Enter')
    await picture('docs-search')
    await page.getByRole('link', { name: /Download the DNS records/ }).click()
    await untilAtTop('domains.zoneFile')
    await search.fill('no such word anywhere')
    await search.press('Enter')
    await page.getByText('Nothing was found').waitFor()
  })

  test('leads from the contents to an operation, an error code and a guide', async () => {
    const { page } = world
    const contents = page.getByRole('navigation', { name: 'Contents' })
    await contents.getByRole('link', { name: 'Events', exact: true }).click()
    await contents.getByRole('link', { name: 'Wait for a message' }).click()
    await untilAtTop('inboxes.wait')
    await picture('docs-operation')
    await contents.getByRole('link', { name: 'Messages', exact: true }).click()
    await page
      .locator('article#inboxes\\.send')
      .getByRole('link', { name: 'loop_suspected' })
      .click()
    await page.waitForURL(/\/docs\/api\/errors#error-loop_suspected$/)
    await page.waitForFunction(() => {
      const top = document.getElementById('error-loop_suspected')?.getBoundingClientRect().top ?? -1
      return top >= 0 && top < innerHeight
    })
    await contents.getByRole('link', { name: 'Quickstart', exact: true }).click()
    await page.getByRole('heading', { name: 'Quickstart', level: 1 }).waitFor()
    assert.equal(await contents.locator('[aria-current]').textContent(), 'Quickstart')
    await picture('docs-guide')
  })

  test('shows samples in the language that was chosen last, and keeps the theme', async () => {
    const { page } = world
    await world.open('/docs/api/threads')
    const samples = page.locator('article#threads\\.get .samples')
    const shownIn = (language: string) => samples.locator(`[data-language="${language}"] pre`)
    await shownIn('curl').waitFor({ state: 'visible' })
    await samples.getByRole('button', { name: 'TypeScript' }).click()
    await shownIn('TypeScript').waitFor({ state: 'visible' })
    assert.equal(await shownIn('curl').isVisible(), false)
    assert.equal(await shownIn('Python').isVisible(), false)
    await world.open('/docs/api/inboxes')
    const other = page.locator('article#inboxes\\.get [data-language="TypeScript"] pre')
    await other.waitFor({ state: 'visible' })
    await page.getByRole('button', { name: 'Change theme' }).click()
    const shown = () => page.evaluate(() => document.documentElement.dataset.theme)
    const theme = await shown()
    await world.open('/docs')
    assert.equal(await shown(), theme)
    await page.evaluate(() => localStorage.clear())
  })

  test('fits a phone, whose contents open and lead to a page', async () => {
    const { page } = world
    await page.setViewportSize(PHONE)
    for (const path of ['/docs', '/docs/api/messages', '/docs/quickstart', '/docs/configuration']) {
      await world.open(path)
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(width <= PHONE.width, `${path} is ${width} px wide on a phone`)
    }
    await picture('docs-phone')
    assert.equal(await page.getByRole('link', { name: 'Threads', exact: true }).isVisible(), false)
    await page.getByText('Contents', { exact: true }).click()
    await page.getByRole('link', { name: 'Threads', exact: true }).click()
    await page.getByRole('heading', { name: 'Threads', level: 1 }).waitFor()
    await picture('docs-phone-topic')
  })

  test('has no serious accessibility fault in either theme', async () => {
    const { page } = world
    const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      for (const path of PAGES) {
        await world.open(path)
        await page.evaluate(axe)
        await picture(`docs-${theme}-${path.replaceAll(/\W+/g, '-')}`)
        // A theme changes nothing but colours.
        const rules = theme === 'dark' ? { runOnly: ['color-contrast'] } : {}
        const results: AxeResults = await page.evaluate(
          (more) => Reflect.get(globalThis, 'axe').run(document, more),
          rules,
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
        assert.deepEqual(grave, [], `${theme} ${path}`)
      }
    }
  })

  /** Waits until the element is below the sticky bar. */
  async function untilAtTop(id: string): Promise<void> {
    await world.page.waitForFunction((wanted) => {
      const top = document.getElementById(wanted)?.getBoundingClientRect().top ?? -1
      return top >= 0 && top < 140
    }, id)
  }

  async function picture(name: string): Promise<void> {
    if (folder !== undefined) await world.page.screenshot({ path: join(folder, `${name}.png`) })
  }
})
