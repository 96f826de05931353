// Every page in both themes: axe finds no serious fault, nothing is wider than a phone, and with MAILROOM_SCREENSHOTS
// a screenshot of each goes to that folder.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { graveFaults, type ShownTheme, showTheme, THEMES } from '#test/browser/axe.ts'
import { PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
} from '#test/browser/console-world.ts'
import { type Furnished, furnish, type Shown } from '#test/browser/furnish.ts'

const folder = process.env.MAILROOM_SCREENSHOTS
const WINDOW = { width: 1280, height: 900 }
/** The height that a finger needs. */
const CONTROL_PX_MIN = 40

suite('the pages of the console', () => {
  let world: ConsoleWorld
  let furnished: Furnished

  before(async () => {
    world = await openConsoleWorld()
    furnished = await furnish(world)
  })
  after(() => world.close())

  test('signing in', async () => {
    await world.open('/console/')
    await world.page.getByLabel('API key').waitFor()
    for (const theme of THEMES) await examine('sign-in', theme)
    await world.signIn()
  })

  test('each page, dialog and empty list', async (t) => {
    for (const [name, page] of Object.entries(furnished.pages)) {
      await t.test(name, () => examinePage(name, page))
    }
  })

  test('the pages of an account with an approver, and every route', async (t) => {
    const guarded = await furnished.guard()
    for (const [name, page] of Object.entries(guarded)) {
      await t.test(name, () => examinePage(name, page))
    }
    const app = await readFile(new URL(import.meta.resolve('#app.tsx')), 'utf8')
    const pages = Object.values({ ...furnished.pages, ...guarded })
    const shown = pages.map(({ path }) => path.replace(/\/?(\?.*)?$/, ''))
    const routes = [...app.matchAll(/<Route path="([^"]+)"/g)].map(([, route = '']) => route)
    assert.ok(routes.length > 25)
    for (const route of routes) {
      const pattern = new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`)
      assert.ok(
        shown.some((path) => pattern.test(path)),
        `no page of ${route}`,
      )
    }
  })

  test('the menu of a phone, by touch and by keyboard', async () => {
    const { page } = world
    await page.setViewportSize(PHONE)
    await world.open('/console/keys')
    await page.locator('.table').waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).isVisible(), false)
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    for (const theme of THEMES) await examine('menu', theme)
    await page.getByRole('link', { name: 'Domains' }).click()
    await page.getByRole('heading', { name: 'Domains', level: 1 }).waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).isVisible(), false)
  })

  test('the browser sends no request to another host', () => {
    assert.deepEqual(foreignRequests(world), [])
  })

  /** A page listens to keys a moment after it is drawn, and not while a field has the focus. */
  async function openHelp(): Promise<void> {
    const help = world.page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const endMs = performance.now() + 20_000
    while ((await help.count()) === 0) {
      assert.ok(performance.now() < endMs, 'the help opens')
      await world.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
      await world.page.keyboard.press('?')
    }
  }

  async function examinePage(name: string, { path, ready, act }: Shown): Promise<void> {
    await world.page.setViewportSize(WINDOW)
    await world.open(path)
    await world.page.locator(ready).first().waitFor()
    if (act === undefined) {
      await openHelp()
      await world.page.keyboard.press('Escape')
    }
    await act?.(world.page)
    for (const theme of THEMES) await examine(name, theme)
    assert.ok((await beyondWindow()) <= 0, `${name} has a second scroll bar`)
    await world.page.setViewportSize(PHONE)
    await world.page.waitForTimeout(200)
    const width = await world.page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= PHONE.width, `${name} is ${width} px wide on a phone`)
    assert.ok((await beyondWindow()) <= 0, `${name} has a second scroll bar on a phone`)
    assert.deepEqual(await world.page.evaluate(lowControls, CONTROL_PX_MIN), [])
    for (const theme of THEMES) await examine(`${name}-phone`, theme)
  }

  async function examine(name: string, theme: ShownTheme): Promise<void> {
    await showTheme(world.page, theme)
    if (folder !== undefined) await picture(`${name}-${theme}`)
    assert.deepEqual(await graveFaults(world.page, theme), [], `${name} in ${theme}`)
  }

  /** Only the panes of a page scroll, so the document is as high as the window. */
  function beyondWindow(): Promise<number> {
    return world.page.evaluate(() => document.documentElement.scrollHeight - innerHeight)
  }

  async function picture(name: string): Promise<void> {
    await world.page.screenshot({ path: join(folder ?? '.', `${name}.png`) })
  }
})

/** Runs in the page: the controls that are lower than a finger needs, with their labels. */
function lowControls(min: number): string[] {
  const controls = document.querySelectorAll<HTMLElement>(
    'button, a.button, select, summary, input:not([type="hidden"]), [role="tab"], [role="menuitem"]',
  )
  return [...controls].flatMap((control) => {
    const labels = 'labels' in control ? [...((control as HTMLInputElement).labels ?? [])] : []
    const heights = [control, ...labels].map((one) => one.getBoundingClientRect().height)
    const { width, height } = control.getBoundingClientRect()
    const isSeen = control.checkVisibility({ visibilityProperty: true }) && width > 1 && height > 1
    if (!isSeen || Math.max(...heights) >= min) return []
    return [`${Math.round(height)} px: ${control.outerHTML.slice(0, 160)}`]
  })
}
