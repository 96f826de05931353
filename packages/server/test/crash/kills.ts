// The frame of tests that kill the service again and again, on either engine.

import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LIMIT } from '@mailroom/mail/test/size-of.ts'
import type { Engine } from '#platform/db/db.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { type Random, seededRandom } from './intake.ts'
import { Service } from './service.ts'

/** Share of the kills after which another one strikes before the service is ready again. */
const EARLY_SHARE = 0.15
const EARLY_MS_MAX = 1_000

export type KillTest = {
  readonly t: TestContext
  readonly kills: number
  readonly random: Random
  /** Starts a service on an empty database of the engine; the test closes it. */
  start(env?: Record<string, string>): Promise<Service>
}

export type KillPlan = {
  kills: number
  /** `LONG_LIMIT` unless given. */
  limit?: { timeout: number }
  /** What the name of the test says beside engine and kills. */
  of?: string
}

/** Defines the test on one engine. It prints its seed, which `TEST_MAILROOM_SEED` repeats. */
export function killTest(
  engine: Engine,
  { kills, limit = LONG_LIMIT, of = '' }: KillPlan,
  run: (killTest: KillTest) => Promise<void>,
): void {
  const name = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  test(`${of}on ${name}, ${kills} kills`, limit, async (t) => {
    const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
    t.diagnostic(`seed ${seed}, ${kills} kills`)
    const database = engine === 'postgres' ? { databaseUrl: await createTestDatabase() } : {}
    await run({
      t,
      kills,
      random: seededRandom(seed),
      async start(env = {}) {
        const service = await Service.start({ env, ...database })
        t.after(() => service.close())
        return service
      },
    })
  })
}

export type KillOptions = {
  service: Service
  random: Random
  /** The kill strikes after up to so many milliseconds. */
  momentMs: number
  /** Now and then another kill strikes during the start. */
  strikesStarts?: boolean
  /** Called at each kill. */
  beforeKill?: () => void
}

/** Moments of `performance.now()`. */
export type Killed = { killedAtMs: number[]; startedAtMs: number }

/** `kill -9` at a random moment, and a start; the service is ready afterwards. */
export async function killAndRestart(options: KillOptions): Promise<Killed> {
  const { service, random, momentMs, strikesStarts = false, beforeKill } = options
  await sleep(random() * momentMs)
  beforeKill?.()
  await service.kill()
  const killedAtMs = [performance.now()]
  if (strikesStarts && random() < EARLY_SHARE) {
    await service.start({ waits: false })
    await sleep(random() * EARLY_MS_MAX)
    beforeKill?.()
    await service.kill()
    killedAtMs.push(performance.now())
  }
  const startedAtMs = performance.now()
  await service.start()
  return { killedAtMs, startedAtMs }
}
