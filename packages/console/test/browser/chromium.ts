// The browser of the tests: the machine's own Chromium, which makes no network requests by itself.

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

export function findChromium(): string | null {
  return [process.env.CHROMIUM_PATH ?? '', ...PLACES].find((path) => existsSync(path)) ?? null
}

export type Window = { width: number; height: number }
export const DESK: Window = { width: 1440, height: 900 }
export const PHONE: Window = { width: 390, height: 844 }

export type Browser = { readonly context: BrowserContext; close(): Promise<void> }

/** A browser with an empty profile of its own. */
export async function openBrowser(viewport: Window = DESK): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('There is no Chromium.')
  const profile = await mkdtemp(join(tmpdir(), 'mailroom-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    viewport,
    args: [
      // Its sandbox does not work as root, which is the usual user in containers.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  return {
    context,
    async close() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
