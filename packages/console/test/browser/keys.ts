// Whether a page uses a key that the keyboard help lists.

import type { Page } from 'playwright-core'

/** The names are those of the help: keys pressed together, or `g` and a letter. */
export async function isUsed(page: Page, keyed: string): Promise<boolean> {
  const parts = keyed.split(' ')
  const isSequence = parts[0] === 'g'
  await page.evaluate(() => {
    Object.assign(globalThis, { wasUsed: false })
    const note = (event: KeyboardEvent) => {
      if (event.key !== 'Control') Object.assign(globalThis, { wasUsed: event.defaultPrevented })
    }
    addEventListener('keydown', note)
  })
  if (isSequence) await page.keyboard.press('g')
  await page.keyboard.press(isSequence ? (parts[1] ?? '') : parts.join('+'))
  return page.evaluate(() => Reflect.get(globalThis, 'wasUsed') === true)
}
