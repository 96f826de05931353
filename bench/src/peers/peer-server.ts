// The common part of the other mail servers.

import { mkdirSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openPeer } from '#smtp-peer.ts'

/** A mail server that accepts mail for `bench@mailroom.localhost`. */
export type PeerServer = {
  readonly name: string
  readonly port: number
  /** A one-line description of how the server handles a message. */
  readonly does: string
  /** The number of delivered messages. */
  countDelivered(): Promise<number>
  stop(): Promise<void>
}

const START_MS_MAX = 120_000

/** Resolves when the server answers EHLO. Throws after two minutes. */
export async function untilAnswering(port: number): Promise<void> {
  const endMs = performance.now() + START_MS_MAX
  for (;;) {
    try {
      const peer = await openPeer(port)
      peer.close()
      return
    } catch (error) {
      if (performance.now() > endMs) throw new Error('It does not answer', { cause: error })
      await wait(100)
    }
  }
}

/** The folder of downloads; created if missing. */
export function programFolder(name: string): string {
  const path = fileURLToPath(
    new URL(`../../../node_modules/.cache/mailroom-bench/${name}`, import.meta.url),
  )
  mkdirSync(path, { recursive: true })
  return path
}
