// Entry point of the thread that checks signatures. The main thread enforces all limits.

import { parentPort, workerData } from 'node:worker_threads'
import { Cache } from '#platform/cache.ts'
import { checkSignatures } from './check-signatures.ts'
import type { FromThread, ThreadOptions, ToThread } from './signature-checker.ts'
import {
  type KeyAnswer,
  SIGNATURE_KEY_KEPT_MS_MAX,
  SIGNATURE_KEYS_KEPT_MAX,
} from './signature-keys.ts'

const SIGNATURE_KEYS_CHARACTERS_MAX = 1024 * 1024

const port = parentPort
if (port === null) throw new Error('signature-worker.ts is the entry of a worker thread')

const atWork = new Int32Array((workerData as ThreadOptions).atWork)

const kept = new Cache<KeyAnswer>({
  entriesMax: SIGNATURE_KEYS_KEPT_MAX,
  sizeMax: SIGNATURE_KEYS_CHARACTERS_MAX,
})
const asked = new Map<string, PromiseWithResolvers<KeyAnswer>>()
const late = new Map<number, PromiseWithResolvers<KeyAnswer>>()
const dropped = new Set<number>()

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'answer':
      keepAnswer(message.name, message.answer)
      break
    case 'keys-late':
      late.get(message.id)?.resolve({ kind: 'fault', text: 'no answer in time' })
      break
    case 'drop':
      if (late.has(message.id)) dropped.add(message.id)
      break
    case 'ping':
      post({ kind: 'pong' })
      break
    case 'check':
      void check(message)
  }
})
post({ kind: 'ready' })

async function check({ id, raw, nowMs }: Extract<ToThread, { kind: 'check' }>): Promise<void> {
  const tooLate = Promise.withResolvers<KeyAnswer>()
  late.set(id, tooLate)
  const onWork = () => {
    if (dropped.has(id)) throw new Error('The time for this message is over.')
    Atomics.store(atWork, 0, id)
  }
  onWork()
  const results = await checkSignatures(raw, {
    findKeys: (name) => Promise.race([findKeys(name), tooLate.promise]),
    nowMs,
    onWork,
  }).catch(() => null)
  late.delete(id)
  dropped.delete(id)
  // Memory is freed explicitly, because an idle thread collects no garbage.
  ;(raw.buffer as ArrayBuffer).transfer(0)
  post({ kind: 'checked', id, results })
}

function keepAnswer(name: string, answer: KeyAnswer): void {
  const ttlMs = answer.kind === 'fault' ? 0 : Math.min(answer.ttlMs, SIGNATURE_KEY_KEPT_MS_MAX)
  const characters = answer.kind === 'found' ? answer.records.join('').length : 0
  kept.set(name, answer, { ttlMs, size: name.length + characters })
  asked.get(name)?.resolve(answer)
  asked.delete(name)
}

function findKeys(name: string): Promise<KeyAnswer> {
  const known = kept.get(name)
  if (known !== null) return Promise.resolve(known)
  const waiting = asked.get(name)
  if (waiting !== undefined) return waiting.promise
  const question = Promise.withResolvers<KeyAnswer>()
  asked.set(name, question)
  post({ kind: 'question', name })
  return question.promise
}

function post(message: FromThread): void {
  port?.postMessage(message)
}
