import { createPrivateKey } from 'node:crypto'
import { openSigner, type Signer } from '@mailroom/mail/dkim.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import { problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type DkimOwner, dkimKeyContext, SERVICE_OWNER } from './dkim-key.ts'
import { findActiveDkimKey } from './dkim-key-rows.ts'
import { ensureFirstKey, type ServiceKeyDeps } from './service-keys.ts'

/** How long a process may go on signing with a key that another has retired, which is still published. */
export const DKIM_KEY_LOOK_MS = 10 * SECOND_MS
/** Domains whose key is kept opened. */
const DKIM_SIGNERS_KEPT_MAX = 500

export type Signers = {
  /**
   * The message with the signature of this owner's active key in front; see `Signer`. The first call
   * for the inbox domain makes its key when there is none. `invalid_domain` when a domain is gone.
   */
  sign(owner: DkimOwner, raw: Uint8Array, nowMs: number): Promise<Uint8Array>
}

type Opened = { readonly keyId: string; readonly signer: Signer }
type Kept = { opened: Promise<Opened>; readonly readAtMs: number }

/**
 * Keys are opened once and read anew every DKIM_KEY_LOOK_MS, so that a rotation by any process is followed.
 * Nothing is read or made before the first message.
 */
export function openSigners(deps: ServiceKeyDeps & { clock: Clock }): Signers {
  const kept = new Cache<Kept>({ entriesMax: DKIM_SIGNERS_KEPT_MAX })

  const find = ({ ownerId, domain }: DkimOwner): Promise<Opened> => {
    const name = `${ownerId} ${domain}`
    const before = kept.get(name)
    const nowMs = deps.clock.monotonic()
    if (before !== null && nowMs - before.readAtMs < DKIM_KEY_LOOK_MS) return before.opened
    const opened = openActive(deps, { ownerId, domain }, before?.opened)
    const entry = { opened, readAtMs: nowMs }
    // After a failure the next message tries again.
    opened.catch(() => {
      if (kept.get(name) === entry) kept.delete(name)
    })
    kept.set(name, entry)
    return opened
  }
  return {
    sign: async (owner, raw, nowMs) => (await find(owner)).signer.sign(raw, nowMs),
  }
}

/** Opens the active key, unless it is the one that is open. */
async function openActive(
  deps: ServiceKeyDeps,
  owner: DkimOwner,
  before: Promise<Opened> | undefined,
): Promise<Opened> {
  const known = await before?.catch(() => undefined)
  const key = await findOrMake(deps, owner)
  if (known?.keyId === key.id) return known
  const context = dkimKeyContext({ ...owner, selector: key.selector })
  const plain = deps.sealer.open(key.sealedKey, context)
  if (plain === null) throw new Error(`the key ${context} is not the one that was kept.`)
  const privateKey = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' })
  const signer = openSigner({ domain: owner.domain, selector: key.selector, privateKey })
  return { keyId: key.id, signer }
}

async function findOrMake(deps: ServiceKeyDeps, owner: DkimOwner) {
  const found = await findActiveDkimKey(deps.db, owner)
  if (found !== null) return found
  if (owner.ownerId === SERVICE_OWNER && owner.domain === deps.inboxDomain) {
    await ensureFirstKey(deps)
    const made = await findActiveDkimKey(deps.db, owner)
    if (made !== null) return made
  }
  throw problem('invalid_domain', `The domain ${owner.domain} does not exist any more.`)
}
