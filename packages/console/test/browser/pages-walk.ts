// Every page in both themes: axe finds no serious fault, nothing is wider than a phone, and with MAILROOM_SCREENSHOTS
// a screenshot of each goes to that folder.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { graveFaults, type ShownTheme, showTheme, THEMES } from '#test/browser/axe.ts'
import { DESK, PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
} from '#test/browser/console-world.ts'
import { type Furnished, furnish } from '#test/browser/furnish.ts'

const folder = process.env.MAILROOM_SCREENSHOTS

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
    for (const [name, { path, ready, act }] of Object.entries(furnished.pages)) {
      await t.test(name, async () => {
        await world.page.setViewportSize(DESK)
        await world.open(path)
        await world.page.locator(ready).first().waitFor()
        await act?.(world.page)
        for (const theme of THEMES) await examine(name, theme)
        await world.page.setViewportSize(PHONE)
        await world.page.waitForTimeout(200)
        const width = await world.page.evaluate(() => document.documentElement.scrollWidth)
        if (folder !== undefined) await picture(`${name}-phone`)
        assert.ok(width <= PHONE.width, `${name} is ${width} px wide on a phone`)
      })
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

  async function examine(name: string, theme: ShownTheme): Promise<void> {
    await showTheme(world.page, theme)
    if (folder !== undefined) await picture(`${name}-${theme}`)
    assert.deepEqual(await graveFaults(world.page, theme), [], `${name} in ${theme}`)
  }

  async function picture(name: string): Promise<void> {
    await world.page.screenshot({ path: join(folder ?? '.', `${name}.png`) })
  }
})
