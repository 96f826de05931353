// Signing keys for tests that use many: making one takes a tenth of a second and more.

import { makeDkimKey } from '@mailroom/mail/dkim.ts'

const made: ReturnType<typeof makeDkimKey>[] = []

/** Gives another key at each call, and the same ones in the same order as the supplies before. */
export function keySupply(): typeof makeDkimKey {
  let given = 0
  return () => {
    const key = made[given] ?? makeDkimKey()
    made[given] = key
    given += 1
    return key
  }
}
