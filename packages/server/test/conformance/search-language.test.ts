// Searches of made-up mail against an oracle that reads the plain texts: both databases find the same messages.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import fc from 'fast-check'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { systemClock } from '#platform/clock.ts'
import { toBlockQuery } from '#search/block-query.ts'
import { openSearchSlots } from '#search/handlers.ts'
import { openCatchUps } from '#search/indexer.ts'
import { readQuery } from '#search/parse-query.ts'
import { searchInbox } from '#search/search-inbox.ts'
import { findInBlock, findSearchState } from '#search/store/query-index.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const MESSAGES = 60
const QUERIES = sizeOf('TEST_MAILROOM_SEARCH_QUERIES', { quick: 60, usual: 250, long: 5_000 })
const DAY_MS = 24 * 60 * 60 * 1_000
const FIRST_DAY_MS = Date.UTC(2026, 1, 26)

type Field = 'from' | 'to' | 'subject'
type Mail = {
  name: string
  from: string
  to: string
  subject: string
  body: string
  hasAttachment: boolean
  label: string | null
  threadLabel: string | null
  atMs: number
}
type Leaf =
  | { kind: 'words'; text: string; isQuoted: boolean; isPrefix: boolean; field: Field | null }
  | { kind: 'address'; address: string; field: 'from' | 'to' | null }
  | { kind: 'attachment' }
  | { kind: 'label'; label: string }
  | { kind: 'before' | 'after'; ms: number; isDate: boolean }
type Query =
  | Leaf
  | { kind: 'not'; part: Query }
  | { kind: 'all' | 'any'; parts: Query[]; field: Field | null }

const words = [
  'invoice',
  'march',
  'c',
  'net',
  'follow',
  'up',
  'or',
  'and',
  'ab',
  '1234',
  '5',
  'für',
]
const signs = [' ', ' ', ' ', '-', '/', '. ', ', ', '.', '+', '++ ', '# ', ' .', ' (', ') ', '++, ']
const names = ['Ana', 'Bob C', 'Net March']
const addresses = ['ana@firm.example', 'bob.c@net.example', 'up+ab@firm.example', 'march@c.test']

const text = (max: number) =>
  fc
    .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...signs)), { maxLength: max })
    .map((pairs) => pairs.flat().join(''))
const mailbox = fc
  .tuple(fc.constantFrom(...names), fc.constantFrom(...addresses))
  .map(([name, address]) => `${name} <${address}>`)
const label = fc.constantFrom('urgent', 'a/b', 'done')
const time = fc.integer({ min: 0, max: 6 * DAY_MS }).map((ms) => FIRST_DAY_MS + ms)
const mail: fc.Arbitrary<Omit<Mail, 'name'>> = fc.record({
  from: mailbox,
  to: fc.array(mailbox, { maxLength: 2 }).map((list) => list.join(', ')),
  subject: text(4),
  body: text(12),
  hasAttachment: fc.boolean(),
  label: fc.option(label, { freq: 2 }),
  threadLabel: fc.option(label, { freq: 1 }),
  atMs: time,
})

const field = fc.constantFrom<Field | null>(null, null, 'from', 'to', 'subject')
const joints = ['-', '/', '.', ' ']
const phrase = fc
  .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...joints)), {
    minLength: 1,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().slice(0, -1).join(''))
const leaf: fc.Arbitrary<Leaf> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        text: phrase,
        sign: fc.constantFrom('', '', '++', '#', '*'),
        dot: fc.boolean(),
        field,
      })
      .map(({ text, sign, dot, field }): Leaf => {
        const whole = `${dot && !/^\d/.test(text) ? '.' : ''}${text}${sign === '*' ? '' : sign}`
        return {
          kind: 'words',
          text: whole,
          isQuoted: whole.includes(' '),
          isPrefix: sign === '*' && !whole.includes(' ') && !/(^|[^a-z0-9])[a-z0-9]$/.test(whole),
          field,
        }
      }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('address' as const),
      address: fc.constantFrom(...addresses, 'someone@mailroom.localhost'),
      field: fc.constantFrom('from' as const, 'to' as const, null),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'attachment' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('label' as const), label }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('before' as const, 'after' as const),
      ms: time,
      isDate: fc.boolean(),
    }),
  },
)
const { query } = fc.letrec<{ query: Query; group: Query }>((tie) => ({
  query: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('group'), tie('group')),
  group: fc.oneof(
    tie('query').map((part): Query => (part.kind === 'not' ? part : { kind: 'not', part })),
    fc
      .record({
        kind: fc.constantFrom('all' as const, 'any' as const),
        parts: fc.array(tie('query'), { minLength: 2, maxLength: 3 }),
        field,
      })
      .map((group): Query => group),
  ),
}))

/** As a person writes it. */
function write(part: Query): string {
  switch (part.kind) {
    case 'words': {
      const name = part.field === null ? '' : `${part.field}:`
      return part.isQuoted
        ? `${name}"${part.text}"`
        : `${name}${part.text}${part.isPrefix ? '*' : ''}`
    }
    case 'address':
      return `${part.field === null ? '' : `${part.field}:`}${part.address}`
    case 'attachment':
      return 'has:attachment'
    case 'label':
      return `label:${part.label}`
    case 'before':
    case 'after': {
      const time = new Date(part.ms).toISOString()
      return `${part.kind}:${part.isDate ? time.slice(0, 10) : time}`
    }
    case 'not':
      return `-${write(part.part)}`
    default: {
      const name = part.field === null ? '' : `${part.field}:`
      return `${name}(${part.parts.map(write).join(part.kind === 'any' ? ' OR ' : ' ')})`
    }
  }
}

type Found = { word: string; dot: boolean; after: string }

function findPlain(text: string): Found[] {
  const folded = text.toLowerCase().replaceAll('ü', 'u')
  return [...folded.matchAll(/[a-z0-9]+/g)].map(({ 0: word, index }) => {
    const [, after = ''] = /^([+#]{1,2})(?![+#a-z])/.exec(folded.slice(index + word.length)) ?? []
    return { word, dot: folded[index - 1] === '.' && !/^\d/.test(word), after }
  })
}

/** The words of a field in order, and what of it is found only as a whole. */
function partsOf(mail: Mail): Record<Field | 'body', { words: Found[]; whole: string[] }> {
  const withAddresses = (text: string) => ({
    words: findPlain(text),
    whole: [...text.matchAll(/<(.*?)>/g)].map(([, address = '']) => address),
  })
  const to = withAddresses(mail.to)
  return {
    from: withAddresses(mail.from),
    to: { ...to, whole: [...to.whole, 'someone@mailroom.localhost'] },
    subject: { words: findPlain(mail.subject), whole: [] },
    body: { words: findPlain(mail.body), whole: [] },
  }
}

function isFound(mail: Mail, part: Query, within: Field | null = null): boolean {
  switch (part.kind) {
    case 'not':
      return !isFound(mail, part.part, within)
    case 'all':
      return part.parts.every((one) => isFound(mail, one, part.field ?? within))
    case 'any':
      return part.parts.some((one) => isFound(mail, one, part.field ?? within))
    case 'attachment':
      return mail.hasAttachment
    case 'label':
      return [mail.label, mail.threadLabel].includes(part.label)
    case 'before':
    case 'after': {
      const ms = part.isDate ? Math.floor(part.ms / DAY_MS) * DAY_MS : part.ms
      return part.kind === 'before' ? mail.atMs < ms : mail.atMs >= ms
    }
    case 'address': {
      const parts = partsOf(mail)
      const where = part.field ?? within
      const written = { text: part.address, isQuoted: false, isPrefix: false }
      if (where === 'subject') return isFound(mail, { kind: 'words', ...written, field: where })
      const fields = where === null ? (['from', 'to'] as const) : [where]
      if (fields.some((name) => parts[name].whole.includes(part.address))) return true
      return (
        where === null &&
        [parts.subject, parts.body].some(({ words }) =>
          hasPhrase(words, findPlain(part.address), false),
        )
      )
    }
    default: {
      const parts = partsOf(mail)
      const where = part.field ?? within
      const fields = where === null ? Object.values(parts) : [parts[where]]
      const wanted = findPlain(part.text)
      const hasSigns = wanted.every(({ word, dot, after }, index) => {
        const isOpen = part.isPrefix && index === wanted.length - 1
        if (isOpen || (!dot && after === '')) return true
        const isSame = (one: Found) =>
          one.word === word && (after === '' ? one.dot && one.after === '' : one.after === after)
        return fields.some(({ words }) => words.some(isSame))
      })
      return hasSigns && fields.some(({ words }) => hasPhrase(words, wanted, part.isPrefix))
    }
  }
}

function hasPhrase(words: Found[], wanted: Found[], isPrefix: boolean): boolean {
  return words.some((_, at) =>
    wanted.every(({ word }, index) => {
      const found = words[at + index]?.word
      const isOpen = isPrefix && index === wanted.length - 1
      return isOpen ? found?.startsWith(word) === true : found === word
    }),
  )
}

function hasSomething(part: Query, isWanted = true): boolean {
  if (part.kind === 'not') return hasSomething(part.part, !isWanted)
  if (part.kind === 'all' || part.kind === 'any') {
    return part.parts.some((one) => hasSomething(one, isWanted))
  }
  return isWanted || !(part.kind === 'words' || part.kind === 'address')
}

const SEED = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
const MAILS: Mail[] = fc
  .sample(mail, { seed: SEED, numRuns: MESSAGES })
  .map((one, index) => ({ ...one, name: `m${index}` }))

onBothEngines('the language of searches', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  const inbox = prepared(async () => ({ inboxId: await addInbox(db, owner) }))
  const nameOf = new Map<string, string>()
  const deps = prepared(() => ({
    ...{ db, clock: systemClock },
    ...{ searchCatchUps: openCatchUps(), searchSlots: openSearchSlots() },
  }))

  before(async () => {
    for (const mail of MAILS) {
      const input = arriving(owner, [inbox.inboxId])
      const content = {
        ...input.content,
        from_addr: mail.from,
        cc: JSON.stringify(mail.to === '' ? [] : [mail.to]),
        subject: mail.subject,
        body_text: mail.body,
        body_length: mail.body.length,
        attachments: mail.hasAttachment ? '[{"filename":"a.pdf"}]' : '[]',
      }
      await db.write(storeReceived, { ...input, content, nowMs: mail.atMs })
      const { messageId = '', threadId = '' } = input.receipts[0] ?? {}
      nameOf.set(messageId, mail.name)
      const place = `'${owner.accountId}', '${inbox.inboxId}', ${Number(mail.name.slice(1)) + 1}`
      if (mail.label !== null) {
        await runSql(
          database,
          `insert into message_labels (message_id, label, account_id, inbox_id, created_at)
          values ('${messageId}', '${mail.label}', ${place})`,
        )
      }
      if (mail.threadLabel !== null) {
        await runSql(
          database,
          `insert into thread_facets (thread_id, facet, account_id, inbox_id, last_message_at)
          values ('${threadId}', 'label=${mail.threadLabel}', ${place})`,
        )
      }
    }
  })

  const search = async (q: string, sort: 'newest' | 'rank' = 'newest') => {
    const asked = { ...owner, ...inbox, q, sort, direction: null, limit: 100, offset: 0 }
    return searchInbox(deps, asked, new AbortController().signal)
  }

  /** As if many messages had the labels. */
  const findAsCommon = async (q: string) => {
    const reading = readQuery(q)
    const state = await findSearchState(db, { ...owner, ...inbox })
    assert.ok(reading.kind === 'query' && state !== null && state.number !== null)
    const found = await findInBlock(db, {
      ...{ number: state.number, ...inbox, direction: null, level: 2, until: MESSAGES, limit: 999 },
      query: toBlockQuery(reading.query.root),
      rareLabels: new Set(),
    })
    return found.map(({ arrival }) => `m${arrival - 1}`).reverse()
  }

  test(`any query finds what its meaning says (seed ${SEED})`, async () => {
    let compared = 0
    let found = 0
    await fc.assert(
      fc.asyncProperty(query, fc.boolean(), async (asked, isRanked) => {
        const q = write(asked)
        if (!hasSomething(asked) || q.length > 500) return
        const expected = MAILS.filter((mail) => isFound(mail, asked)).map(({ name }) => name)
        const answer = await search(q, isRanked ? 'rank' : 'newest').catch((error) => {
          // More parts or levels than are allowed.
          assert.match(String(error), /at most/)
          return null
        })
        if (answer === null) return
        const names = answer.hits.map(({ message }) => nameOf.get(message.id))
        if (!isRanked) assert.deepEqual(names, names.toSorted(byNewest), q)
        assert.deepEqual(names.sort(byNumber), expected, q)
        assert.deepEqual(
          [answer.total, answer.isExact, answer.isComplete],
          [names.length, true, true],
        )
        if (q.includes('label:')) assert.deepEqual(await findAsCommon(q), names)
        compared += 1
        found += names.length
      }),
      { seed: SEED, numRuns: QUERIES },
    )
    assert.ok(compared > QUERIES / 2 && found > compared, `${compared} compared, ${found} found`)
  })
})

/** Equal times by what arrived last. */
function byNewest(a: string | undefined, b: string | undefined): number {
  const timeOf = (name: string | undefined) => MAILS.find((mail) => mail.name === name)?.atMs ?? 0
  return timeOf(b) - timeOf(a) || byNumber(b, a)
}

function byNumber(a: string | undefined, b: string | undefined): number {
  return Number(a?.slice(1)) - Number(b?.slice(1))
}
