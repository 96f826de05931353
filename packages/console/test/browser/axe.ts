// What axe finds wrong with a page.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { DESK, PHONE } from '#test/browser/chromium.ts'

const source = readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

export const THEMES = ['light', 'dark'] as const
export type ShownTheme = (typeof THEMES)[number]

export async function showTheme(page: Page, theme: ShownTheme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))),
  )
}

/** Serious and critical faults, in words. */
export async function graveFaults(page: Page, theme: ShownTheme): Promise<string[]> {
  // The debugger evaluates it, so the page's policy does not block it.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await source)
  // A theme changes nothing but colours.
  const rules: RunOptions = theme === 'dark' ? { runOnly: ['color-contrast'] } : {}
  const results: AxeResults = await page.evaluate(
    (more) => Reflect.get(globalThis, 'axe').run(document, { iframes: false, ...more }),
    rules,
  )
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ html }) => html).join(' ; ')})`)
}

const folder = process.env.MAILROOM_SCREENSHOTS

/** What the page shows now has no serious fault in either theme and fits a phone; screenshots of it if they are wanted. */
export async function examine({ page }: { readonly page: Page }, name: string): Promise<void> {
  const picture = async (kind: string) => {
    if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}-${kind}.png`) })
  }
  for (const theme of THEMES) {
    await showTheme(page, theme)
    await picture(theme)
    assert.deepEqual(await graveFaults(page, theme), [], `${name} in ${theme}`)
  }
  await page.setViewportSize(PHONE)
  await page.waitForTimeout(200)
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  await picture('phone')
  assert.ok(width <= PHONE.width, `${name} is ${width} px wide on a phone`)
  await page.setViewportSize(DESK)
}
