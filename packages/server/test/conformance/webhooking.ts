// Webhooks, events and their delivery, without a service around them: the test plays the receivers.

import { randomBytes } from 'node:crypto'
import type { EventFilter } from '#events/model.ts'
import { openExtractions } from '#mailbox/messages/extractions.ts'
import { systemChance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import { sealer as makeSealer } from '#platform/seal.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import { silentTracing } from '#platform/telemetry/tracing.ts'
import type { Db, Row } from '#store/tables.ts'
import { readEnvelopes } from '#streams/envelope.ts'
import { makeId, type Owner, storeOn } from '#test/conformance/open-database.ts'
import type { DeliverWebhookDeps } from '#webhooks/deliver-webhooks.ts'
import { insertWebhook } from '#webhooks/store/webhooks.ts'
import { makeNewSecret } from '#webhooks/webhook-secrets.ts'

const sealer = makeSealer(randomBytes(32))

export const ANSWERED: HttpPostOutcome = { kind: 'answered', status: 200, body: 'ok', latencyMs: 1 }
export const REFUSED: HttpPostOutcome = {
  kind: 'failed',
  error: 'connection_failed',
  latencyMs: 2,
}

export function answered(status: number, body = ''): HttpPostOutcome {
  return { kind: 'answered', status, body, latencyMs: 3 }
}

export function webhookDeps(
  db: Db,
  clock: Clock,
  post: HttpPost = () => Promise.resolve(ANSWERED),
): DeliverWebhookDeps & { tracing: Tracing } {
  return {
    ...storeOn(db, clock),
    tracing: silentTracing,
    queueClock: { now: () => clock.steady(), check: () => Promise.resolve() },
    readEventTexts: (events) =>
      readEnvelopes(
        {
          ...storeOn(db, clock),
          publicUrl: () => 'http://mailroom.test',
          urlKey: Buffer.alloc(32),
          extractions: openExtractions(),
        },
        events,
      ),
    sealer,
    allowPrivateEgress: false,
    postWebhook: post,
    countWebhookDelivery: () => {},
  }
}

/** A webhook of the account for all events, unless its filter is narrower. */
export async function addWebhook(
  db: Db,
  { accountId }: Owner,
  fields: { filter?: Partial<EventFilter>; isEnabled?: boolean; nowMs?: number; url?: string } = {},
): Promise<string> {
  const { id, sealedSecrets } = makeNewSecret({ chance: systemChance, makeId, sealer })
  const made = await db.write(insertWebhook, {
    id,
    accountId,
    inboxId: null,
    url: fields.url ?? 'https://receiver.example/hook',
    ...{ kinds: [], podIds: [], inboxIds: [], categories: [], ...fields.filter },
    isEnabled: fields.isEnabled ?? true,
    sealedSecrets,
    nowMs: fields.nowMs ?? 0,
  })
  if (typeof made === 'string') throw new Error(made)
  return id
}

/** All deliveries of these webhooks, in the order of their creation. */
export function webhookDeliveriesOf(
  db: Db,
  webhookIds: string[],
): Promise<Row<'webhook_deliveries'>[]> {
  return db.read
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('lane', 'in', webhookIds)
    .orderBy('id')
    .execute()
}
