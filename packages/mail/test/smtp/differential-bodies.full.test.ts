// Random bodies and what follows them, in random segments, through our decoders and through
// smtp-server's parser. Every difference must have one of the reasons listed, every reason a case.
// TEST_MAILROOM_DIFFERENTIAL_BODIES sets how many, TEST_MAILROOM_SEED which ones.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { CommandDecoder, type DecodedLine } from '@mailroom/mail/smtp/command.ts'
import { DataDecoder } from '@mailroom/mail/smtp/data.ts'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { type Dice, seededDice } from '#test/seeded-dice.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { DATA_DIFFERENCES, modelData, modelSmtpServer } from '#test/smtp/data-model.ts'

const CASES = sizeOf('TEST_MAILROOM_DIFFERENTIAL_BODIES', { usual: 100_000, long: 1_000_000 })
const SEED = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
/** The number of oracles in rotation: each waits for a turn of the event loop at every stuffed dot. */
const LANES = 256

const BODY_PARTS = ['\r', '\n', '.', 'a', '\0', '\r\n', '\r\n.', '..', '\r\n..', '\r\n.\r\n']
const TAIL_PARTS = ['NOOP\r\n', 'a', ' ', '\r', '\n', '.', '\0', '\t', '\xfc', '\r\n', 'RSET\r\n']

const LINE_DIFFERENCES = {
  'a line ended by LF alone is refused by us, a command for smtp-server': (line: string) =>
    !line.endsWith('\r\n'),
  'a line with a bare CR is refused by us, a command for smtp-server': (line: string) =>
    /\r./s.test(line.slice(0, -1)),
  'a line with a control character is refused by us, a command for smtp-server': (line: string) =>
    /[\x00-\x09\x0b\x0c\x0e-\x1f]/.test(line),
  'a line that is not UTF-8 is refused by us, a command for smtp-server': (line: string) =>
    /[\x80-\xff]/.test(line),
  'trailing white space is dropped by us already, by smtp-server later': (line: string) =>
    /[ \t]\r\n$/.test(line),
}

type Reading = { content: string; lines: string[] }

test(`bodies and segments: smtp-server agrees, seed ${SEED}`, LONG_LIMIT, async () => {
  const seen = new Map<string, number>()
  const explain = (differences: Record<string, (raw: string) => boolean>, raw: string) => {
    const reasons = Object.entries(differences).filter(([, isReason]) => isReason(raw))
    for (const [name] of reasons) seen.set(name, (seen.get(name) ?? 0) + 1)
    return reasons.length > 0
  }
  const dice = seededDice(SEED)
  let left = CASES
  const lane = async () => {
    const oracle = new Oracle()
    while (left > 0) {
      left -= 1
      const sent = `${pick(dice, BODY_PARTS, 12)}\r\n.\r\n${pick(dice, TAIL_PARTS, 6)}`
      const chunks = cut(dice, Buffer.from(sent, 'latin1'))
      const { decoder, lines, consumed } = read(chunks)
      const theirs = await oracle.read(chunks)
      const model = modelData(sent)
      const content = decoder.hasBareCarriageReturn
        ? null
        : Buffer.concat(decoder.chunks).toString('latin1')
      // The same end of DATA gives the same lines after it.
      const tail = sent.slice(consumed).match(/[^\n]*\n/g) ?? []
      const isRight =
        consumed === model.length &&
        content === (model.hasBareCarriageReturn ? null : model.content) &&
        theirs.content === modelSmtpServer(model.raw) &&
        (content === theirs.content || explain(DATA_DIFFERENCES, model.raw)) &&
        theirs.lines.length === tail.length &&
        lines.length === tail.length &&
        lines.every(
          (line, index) =>
            (line.kind === 'line' && line.text === theirs.lines[index]) ||
            explain(LINE_DIFFERENCES, tail[index] ?? ''),
        )
      if (isRight) continue
      const segments = chunks.map((chunk) => chunk.toString('latin1'))
      assert.fail(JSON.stringify({ segments, content, lines, theirs, model }))
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  const reasons = [...Object.keys(DATA_DIFFERENCES), ...Object.keys(LINE_DIFFERENCES)]
  if (CASES >= 10_000) assert.deepEqual([...seen.keys()].sort(), reasons.sort())
})

function read(chunks: Buffer[]): { decoder: DataDecoder; lines: DecodedLine[]; consumed: number } {
  const decoder = new DataDecoder()
  const commands = new CommandDecoder(256)
  const lines: DecodedLine[] = []
  let consumed = 0
  for (const chunk of chunks) {
    let offset = 0
    if (!decoder.isComplete) {
      offset = decoder.decode(chunk, 0)
      consumed += offset
    }
    while (offset < chunk.length) {
      const line = commands.decode(chunk, offset)
      offset = commands.end
      if (line !== null) lines.push(line)
    }
  }
  return { decoder, lines, consumed }
}

class Oracle {
  readonly #stream = new SMTPStream()
  readonly #sink = new Sink(() => this.#stream.continue())
  #lines: string[] = []

  constructor() {
    this.#stream.oncommand = (line, next) => {
      this.#lines.push(line.toString('latin1'))
      next?.()
    }
  }

  read(chunks: Buffer[]): Promise<Reading> {
    const stream = this.#stream
    this.#lines = []
    this.#sink.content = ''
    stream.startDataMode()
    stream._lastBytes = false
    stream._remainder = ''
    stream._dataStream = this.#sink
    return new Promise((resolve, reject) => {
      const feed = (index: number): void => {
        const chunk = chunks[index]
        if (chunk === undefined) resolve({ content: this.#sink.content, lines: this.#lines })
        else stream._write(chunk, 'buffer', (error) => (error ? reject(error) : feed(index + 1)))
      }
      feed(0)
    })
  }
}

/** Accepts a message at once: a real stream costs a turn of the event loop for each write. */
class Sink extends PassThrough {
  content = ''
  byteLength = 0
  sizeExceeded = false
  readonly #onEnd: () => void

  constructor(onEnd: () => void) {
    super()
    this.#onEnd = onEnd
  }

  override write(chunk: Buffer): boolean {
    this.content += chunk.toString('latin1')
    return true
  }

  override end(chunk?: unknown): this {
    if (chunk instanceof Buffer) this.write(chunk)
    process.nextTick(this.#onEnd)
    return this
  }
}

function pick(dice: Dice, parts: readonly string[], most: number): string {
  let text = ''
  for (let left = dice(most + 1); left > 0; left -= 1) text += parts[dice(parts.length)]
  return text
}

function cut(dice: Dice, bytes: Buffer): Buffer[] {
  const longest = 1 + dice(dice(2) === 0 ? 4 : bytes.length)
  const chunks: Buffer[] = []
  for (let from = 0; from < bytes.length; ) {
    const to = from + 1 + dice(longest)
    chunks.push(bytes.subarray(from, to))
    from = to
  }
  return chunks
}
