// Runs a command on the store, which a running service may use at the same time.

import { existsSync } from 'node:fs'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { databasePath, type OpenStore, openStore, silentObserver } from '#app/open-store.ts'
import type { Settings } from '#config/settings.ts'
import type { ServiceKeyDeps } from '#domains/signing/signing.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { idMaker } from '#platform/ids.ts'
import { silentLog } from '#platform/log.ts'
import { openKeys } from '#secrets/secrets.ts'
import type { Store } from '#store/store.ts'
import { CommandFailure, loadSettings } from './command.ts'

export type CommandStore = OpenStore & Store & { settings: Settings; chance: Chance }

/** Always closes the store. Throws if there is no database, unless `absent` is `make`. */
export async function withStore<Value>(
  run: (store: CommandStore) => Promise<Value>,
  { absent = 'refuse' }: { absent?: 'refuse' | 'make' } = {},
): Promise<Value> {
  const { settings } = loadSettings()
  const isAbsent = settings.databaseUrl === null && !existsSync(databasePath(settings))
  if (isAbsent && absent === 'refuse') {
    throw new CommandFailure(
      `there is no database in ${settings.dataDir}: run "mailroom serve" or "mailroom admin migrate" first, or set MAILROOM_DATA_DIR.`,
    )
  }
  const store = await openStore({
    settings,
    as: 'command',
    observer: silentObserver,
    onError: () => {},
  })
  const clock = systemClock
  const chance = systemChance
  try {
    const makeId = idMaker(clock, chance)
    const wakeEvents = () => store.signals.notify()
    return await run({ ...store, settings, clock, chance, makeId, wakeEvents, log: silentLog })
  } finally {
    await store.close()
  }
}

/** Throws, naming MAILROOM_SECRET_KEY, if the secrets in the database cannot be decrypted. */
export async function withKeys(store: CommandStore): Promise<CommandStore & ServiceKeyDeps> {
  const { sealer } = await openKeys(store)
  return { ...store, sealer, makeDkimKey, inboxDomain: store.settings.inboxDomain }
}
