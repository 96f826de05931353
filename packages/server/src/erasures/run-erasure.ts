// Removes everything about an address. Each step can be repeated, so the job restarts after a
// crash.

import { createHmac } from 'node:crypto'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import { removeDraft } from '#drafts/store/drafts.ts'
import {
  type ErasureRow,
  type EventsStep,
  eraseEventsStep,
  eraseFiles,
  eraseMessages,
  eraseNotes,
  eraseTextsStep,
  findErasure,
  finishErasure,
  forgetErased,
  noteErased,
  OPEN_ERASURES_MAX,
  type TextsStep,
} from '#erasures/store/erasures.ts'
import {
  type Addressed,
  listAccountInboxes,
  scanDrafts,
  scanMessages,
  scanQuarantined,
} from '#erasures/store/scans.ts'
import { removeQuarantined } from '#inbound/quarantine/store/quarantined-mail.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { raceAbort } from '#platform/abort.ts'
import { ERASED_ADDRESS, replaceAddress } from '#platform/address-text.ts'
import { addressKey } from '#platform/email-address.ts'
import { AppError } from '#platform/problem.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { Held } from '#queue/jobs.ts'
import type { JobKind } from '#queue/work-jobs.ts'
import { REMOVE_STEP_MESSAGES } from '#removal/store/remove-mail.ts'
import { eraseSearchStep } from '#search/store/search-index.ts'
import type { Store } from '#store/store.ts'
import { removeUnreferenced } from '#store/unreferenced-blobs.ts'
import { purgeTransfers } from '#transfers/transfers.ts'
import { purgeUploads } from '#uploads/uploads.ts'

type Deps = Store & { deriveKey(purpose: string): Uint8Array }

export function erasureWork(deps: Deps): FeatureWork {
  return { jobs: [erasureJobs(deps)] }
}

/** Each job is keyed by an erasure id. A failed erasure is retried until it is done. */
export function erasureJobs(deps: Deps): JobKind {
  return {
    name: 'erasure',
    // A large mailbox takes minutes, so accounts take turns.
    atOnce: 2,
    isExclusive: true,
    batch: OPEN_ERASURES_MAX,
    async run(jobs, { signal, held, fail }) {
      const removed: (() => Held)[] = []
      for (const job of jobs) {
        const work = { held: () => held(job), signal }
        try {
          const erasure = await findErasure(deps.db, job.accountId, job.key)
          if (erasure === null || erasure.status === 'done') continue
          const { addressKey: address } = erasure
          // If this is null, an earlier attempt has removed everything that names the address.
          const isRemoved =
            address === null || (await eraseMail(deps, { ...erasure, address }, work))
          if (!isRemoved) return 'again'
          removed.push(work.held)
        } catch (error) {
          await fail(job, error)
        }
      }
      if (removed.length === 0) return 'done'
      return (await eraseWords(deps, removed, signal)) ? 'done' : 'again'
    },
  }
}

type Work = { held: () => Held; signal: AbortSignal }

async function eraseMail(
  deps: Deps,
  { accountId, createdAtMs: since, address, keepsAudit }: ErasureRow & { address: string },
  work: Work,
): Promise<boolean> {
  const { db } = deps
  const { held, signal } = work
  await db.write(eraseFiles, held())
  await purgeTransfers(deps, signal)
  await purgeUploads(deps, signal)
  const inboxIds = await listAccountInboxes(db, accountId)
  for (const inboxId of inboxIds) await eraseInbox(deps, { accountId, inboxId, address }, work)
  const quarantined = await findQuarantined(deps, { accountId, address })
  await eraseDrafts(deps, { accountId, address }, work)
  if (signal.aborted) return false
  // Exports that began during the erasure may have read mail before it was removed.
  await db.write(eraseFiles, held())
  await purgeTransfers(deps, signal)
  await purgeUploads(deps, signal)
  for (let after: number | null = 0; after !== null; ) {
    const events: EventsStep = { ...held(), after, address, since, quarantined }
    after = await db.write(eraseEventsStep, events)
    if (signal.aborted) return false
  }
  // Quarantined mail is erased after its events, because a repeated run uses it to find them.
  await eraseQuarantined(deps, { accountId, quarantined }, work)
  await db.write(eraseNotes, { ...held(), address, inboxIds })
  const eraseTexts = async (of: TextsStep['of'], replacement: string | null) => {
    for (let after: string | null = ''; after !== null; ) {
      after = await db.write(eraseTextsStep, { ...held(), of, after, address, replacement })
    }
  }
  await eraseTexts('answers', ERASED_ADDRESS)
  if (keepsAudit) return true
  // All entries use one pseudonym for the address. Without the key, it reveals nothing.
  const mac = createHmac('sha256', deps.deriveKey('erased-address'))
  const name = mac.update(`${accountId} ${address}`).digest('hex').slice(0, 16)
  const pseudonym = `${name}@erased.invalid`
  await eraseTexts('auditEntries', pseudonym)
  await eraseTexts('reviews', null)
  await eraseTexts('versions', pseudonym)
  await eraseTexts('comments', pseudonym)
  return true
}

/** Erases in one pass over the index for all these erasures. Returns false if aborted. */
async function eraseWords(
  deps: Deps,
  erasures: readonly (() => Held)[],
  signal: AbortSignal,
): Promise<boolean> {
  const { db } = deps
  // The index contains words of removed entries until its parts are merged.
  for (let isFirst = true; !(await db.write(eraseSearchStep, { isFirst })); isFirst = false) {
    if (signal.aborted) return false
  }
  await removeUnreferenced(deps, signal)
  if (signal.aborted) return false
  for (const held of erasures) await db.write(forgetErased, held())
  // Free pages may contain copies of removed rows.
  const overwritten = db.overwriteUnused?.().then(() => true) ?? Promise.resolve(true)
  if ((await raceAbort(overwritten, { signal })) === null) return false
  for (const held of erasures) await db.write(finishErasure, held())
  return true
}

async function eraseInbox(
  { db, blobs }: Deps,
  { accountId, inboxId, address }: { accountId: string; inboxId: string; address: string },
  { held, signal }: Work,
): Promise<void> {
  let after = 0
  while (!signal.aborted) {
    const next = await scanMessages(db, { accountId, inboxId, after })
    if (next === null) return
    after = next.last
    const ids = next.messages.filter((one) => isOf(one, address)).map(({ id }) => id)
    for (let at = 0; at < ids.length; at += REMOVE_STEP_MESSAGES) {
      const step = { inboxId, ids: ids.slice(at, at + REMOVE_STEP_MESSAGES) }
      const blobIds = await db.write(eraseMessages, { ...held(), ...step })
      // If a blob cannot be removed, the erasure fails.
      await blobs?.remove(blobIds)
    }
  }
}

function isOf(message: Addressed, address: string): boolean {
  const { from_addr, reverse_path, to_addr, to_addrs, header_to, cc, bcc, recipient } = message
  const lists = [to_addrs, cc, bcc].flatMap((list) =>
    list === null ? [] : (JSON.parse(list) as string[]),
  )
  const texts = [from_addr, reverse_path, to_addr, header_to ?? '', recipient ?? '', ...lists]
  return texts.some((text) => namesAddress(text, address))
}

function namesAddress(text: string, address: string): boolean {
  if (text === '') return false
  if (addressKey(text) === address) return true
  return parseAddressList(text).some((mailbox) => addressKey(mailbox.address) === address)
}

async function findQuarantined(
  deps: Deps,
  { accountId, address }: { accountId: string; address: string },
): Promise<string[]> {
  const found: string[] = []
  for (let after = ''; ; ) {
    const rows = await scanQuarantined(deps.db, accountId, after)
    if (rows.length === 0) return found
    for (const { id, raw_id, from_addr, reverse_path } of rows) {
      after = id
      const isOfAddress =
        [from_addr, reverse_path].some((text) => namesAddress(text, address)) ||
        (await isInHeader(deps, raw_id, address))
      if (isOfAddress) found.push(id)
    }
  }
}

async function eraseQuarantined(
  { db, blobs }: Deps,
  { accountId, quarantined }: { accountId: string; quarantined: readonly string[] },
  { held }: Work,
): Promise<void> {
  for (const quarantinedId of quarantined) {
    const removed = await db.write(removeQuarantined, { accountId, quarantinedId })
    if (removed === null) continue
    await blobs?.remove(removed.blobIds)
    await db.write(noteErased, { ...held(), added: { quarantined: 1 } })
  }
}

async function isInHeader(deps: Deps, rawId: string, address: string): Promise<boolean> {
  try {
    const headers = readHeaders(readHeaderSection(await readRawBytes(deps, rawId)).fields)
    const mailboxes = [headers.from, ...headers.to, ...headers.cc, ...headers.bcc]
    return mailboxes.some((one) => one !== null && addressKey(one.address) === address)
  } catch (error) {
    // Another request has removed the message.
    if (error instanceof AppError && error.code === 'not_found') return false
    throw error
  }
}

async function eraseDrafts(
  { db, blobs }: Deps,
  { accountId, address }: { accountId: string; address: string },
  { held, signal }: Work,
): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const drafts = await scanDrafts(db, accountId, after)
    if (drafts.length === 0) return
    for (const { id, content } of drafts) {
      after = id
      if (replaceAddress(content, address) === null) continue
      const removed = await db.write(removeDraft, {
        accountId,
        draftId: id,
        version: null,
        nowMs: held().nowMs,
      })
      if (removed.kind !== 'deleted') continue
      await blobs?.remove(removed.blobIds)
      await db.write(noteErased, { ...held(), added: { drafts: 1 } })
    }
  }
}
