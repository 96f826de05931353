// Runs a dialogue written as text. A line begins with what it is:
//   C: sent with CRLF · C~ sent as it is · S: the next reply's last line begins so
//   + a line of the last reply is this · - no line of it is · M: messages received so far
//   X the server closes · # a remark
// Neighbouring C lines are sent as one segment. \r \n \t \0 \\ and \xHH mean octets.

import assert from 'node:assert/strict'
import type { RecordingReceiver } from '#test/recording-receiver.ts'
import type { Peer } from '#test/smtp-world.ts'

export async function runDialogue(
  script: string,
  peer: Peer,
  receiver: RecordingReceiver,
): Promise<void> {
  let outgoing: Buffer[] = []
  let last: string[] = []
  const flush = () => {
    if (outgoing.length > 0) peer.send(Buffer.concat(outgoing))
    outgoing = []
  }
  for (const [index, line] of script.split('\n').entries()) {
    const where = `line ${index + 1}: ${line}`
    const mark = line.slice(0, 2)
    const text = line.slice(2).replace(/^ /, '')
    if (mark === 'C:') outgoing.push(octets(`${text}\\r\\n`))
    else if (mark === 'C~') outgoing.push(octets(text))
    else flush()
    if (mark === 'S:') {
      last = (await within(peer.reply(), where)).split('\n')
      const tail = last.at(-1) ?? ''
      assert.ok(tail.startsWith(text), `${where}\nbut got: ${last.join(' | ')}`)
    } else if (mark === '+ ') {
      assert.ok(
        last.some((l) => l.slice(4) === text),
        where,
      )
    } else if (mark === '- ') {
      assert.ok(!last.some((l) => l.slice(4) === text), where)
    } else if (mark === 'M:') {
      assert.equal(receiver.received.length, Number(text), where)
    } else if (mark === 'X') {
      assert.deepEqual(await within(peer.end(), where), [], where)
    } else {
      assert.ok(mark === '' || /^[#C]/.test(mark), `not a script line, ${where}`)
    }
  }
}

const PATIENCE_MS = 5_000

async function within<T>(promise: Promise<T>, where: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`waited in vain at ${where}`)), PATIENCE_MS)
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : error}`)
  } finally {
    clearTimeout(timer)
  }
}

function octets(text: string): Buffer {
  const plain: Record<string, string> = { r: '\r', n: '\n', t: '\t', '0': '\0', '\\': '\\' }
  const parts = text.split(/(\\x[0-9a-f]{2}|\\[rnt0\\])/i).map((part) => {
    if (/^\\x[0-9a-f]{2}$/i.test(part)) return Buffer.from(part.slice(2), 'hex')
    return /^\\[rnt0\\]$/.test(part)
      ? Buffer.from(plain[part.slice(1)] ?? '')
      : Buffer.from(part, 'utf8')
  })
  return Buffer.concat(parts)
}
