// Runs a command on the store, which a running service may use at the same time.

import { existsSync } from 'node:fs'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { databasePath, type OpenStore, openStore, silentObserver } from '#app/open-store.ts'
import type { Settings } from '#config/settings.ts'
import type { ServiceKeyDeps } from '#domains/signing/signing.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { idMaker } from '#platform/ids.ts'
import { openKeys } from '#secrets/secrets.ts'
import { CommandFailure, loadSettings } from './command.ts'

export type CommandStore = OpenStore & {
  settings: Settings
  clock: typeof systemClock
  chance: typeof systemChance
  makeId: ReturnType<typeof idMaker>
}

/** Always closes the store. Throws if there is no database, unless `absent` is `make`. */
export async function withStore<Value>(
  run: (store: CommandStore) => Promise<Value>,
  { absent = 'refuse' }: { absent?: 'refuse' | 'make' } = {},
): Promise<Value> {
  const { settings } = loadSettings()
  const isAbsent = settings.databaseUrl === null && !existsSync(databasePath(settings))
  if (isAbsent && absent === 'refuse') {
    throw new CommandFailure(
      `there is no database in ${settings.dataDir}: run "mailroom serve" or "mailroom migrate" first, or set MAILROOM_DATA_DIR.`,
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
    return await run({ ...store, settings, clock, chance, makeId: idMaker(clock, chance) })
  } finally {
    await store.close()
  }
}

/** Throws, naming MAILROOM_SECRET_KEY, if the secrets in the database cannot be decrypted. */
export async function withKeys(store: CommandStore): Promise<CommandStore & ServiceKeyDeps> {
  const { sealer } = await openKeys(store)
  return { ...store, sealer, makeDkimKey, inboxDomain: store.settings.inboxDomain }
}
