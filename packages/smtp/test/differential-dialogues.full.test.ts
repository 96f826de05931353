// Random dialogues held with our engine and with smtp-server in step. The first digits of all
// replies and the messages handed over must agree, or differ for one of the reasons listed.
// TEST_MAILROOM_DIFFERENTIAL_DIALOGUES sets how many, TEST_MAILROOM_SEED which ones.

import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { judgeRecipient, type RecordingReceiver } from '#test/recording-receiver.ts'
import { ReplyReader } from '#test/reply-reader.ts'
import { MemoryPeer } from '#test/smtp-world.ts'

const DIALOGUES = sizeOf('TEST_MAILROOM_DIFFERENTIAL_DIALOGUES', { usual: 5_000, long: 50_000 })
const SEED = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
const LANES = 100
const MESSAGE_BYTES_MAX = 2_000

const LIKELY = [
  'EHLO c.example\r\n',
  'MAIL FROM:<a@b.example>\r\n',
  'RCPT TO:<u@x.example>\r\n',
  'DATA\r\n',
]
const UNLIKELY = [
  'HELO c.example\r\n',
  'ehlo c.example\r\n',
  'EHLO [192.0.2.1]\r\n',
  'EHLO\r\n',
  'EHLO two words\r\n',
  'MAIL FROM:<>\r\n',
  'mail from: <A@B.example>\r\n',
  'MAIL FROM:<a@b.example> SIZE=2000\r\n',
  'MAIL FROM:<a@b.example> SIZE=2001\r\n',
  'MAIL FROM:<a@b.example> SIZE=x\r\n',
  'MAIL FROM:<a@b.example> SIZE=1 SIZE=1\r\n',
  'MAIL FROM:<a@b.example> BODY=8BITMIME\r\n',
  'MAIL FROM:<a@b.example> BODY=7BIT SMTPUTF8\r\n',
  'MAIL FROM:<a@b.example> BODY=FOO\r\n',
  'MAIL FROM:<a@b.example> FOO=bar\r\n',
  'MAIL FROM:<ü@b.example> SMTPUTF8\r\n',
  'MAIL FROM:<ü@b.example>\r\n',
  'MAIL FROM:<"a b"@b.example>\r\n',
  `MAIL FROM:<${'l'.repeat(256)}@b.example>\r\n`,
  'MAIL FROM:<a@b@c.example>\r\n',
  'MAIL FROM:<a@b.example.>\r\n',
  'MAIL FROM:<a@b\0.example>\r\n',
  'MAIL FROM:<a@b.example\r\n',
  'MAIL FROM:a@b.example\r\n',
  'MAIL\r\n',
  'MAIL FROM:<a@b.example>\rRCPT TO:<u@x.example>\r\n',
  'RCPT TO:<u2@x.example>\r\n',
  'RCPT TO:<nobody@x.example>\r\n',
  'RCPT TO:<busy@x.example>\r\n',
  'RCPT TO:<u@other.example>\r\n',
  'RCPT TO:<postmaster>\r\n',
  'RCPT TO:<@x.example:u@x.example>\r\n',
  'RCPT TO:<>\r\n',
  'RCPT TO:<u>\r\n',
  'RCPT TO:<u@x.example> NOTIFY=NEVER\r\n',
  'RCPT TO:<u@x.example> FOO\r\n',
  'DATA now\r\n',
  'RSET\r\n',
  'RSET now\r\n',
  'NOOP\r\n',
  'NOOP hello\r\n',
  'HELP\r\n',
  'VRFY u\r\n',
  'EXPN u\r\n',
  'WIZ\r\n',
  'FOO\r\n',
  '\r\n',
  'NOOP\n',
  'QUIT\r\n',
  'QUIT now\r\n',
  'GET / HTTP/1.1\r\n',
]
const BODIES = [
  '.\r\n',
  'hello\r\n.\r\n',
  'Subject: x\r\n\r\n..\r\n...\r\n.\r\n',
  'REFUSE\r\n.\r\n',
  `${'x'.repeat(MESSAGE_BYTES_MAX - 2)}\r\n.\r\n`,
  `${'x'.repeat(MESSAGE_BYTES_MAX - 1)}\r\n.\r\n`,
]

// Each names the commands that it excuses; every other difference is a failure.
const DIFFERENCES: Record<string, RegExp> = {
  'a quoted local part is taken by us, as §4.1.2 says': /^MAIL FROM:<"a b"/,
  'a bare CR in a command is refused by us, a separator of parameters for smtp-server': /\r./,
  'a command ended by LF alone is refused by us': /[^\r]\n$/,
  'an unknown MAIL parameter is 555 from us, ignored by smtp-server': /^MAIL.* FOO=/,
  'a RCPT parameter that was not offered is 555 from us, ignored by smtp-server':
    /^RCPT.*> (FOO|NOTIFY)/,
  'UTF-8 without SMTPUTF8 is refused by us': /<ü@b\.example>\r\n$/,
  'a source route is refused by us, stripped by smtp-server': /<@x\.example:/,
  'DATA, RSET and QUIT with an argument are 501 from us, as §4.3.2 allows': / now\r\n$/,
}

test(`dialogues: smtp-server agrees, seed ${SEED}`, async () => {
  const seen = new Set<string>()
  const dice = seededDice(SEED)
  let left = DIALOGUES
  const lane = async () => {
    while (left > 0) {
      left -= 1
      await holdDialogue(dice, seen)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  if (DIALOGUES >= 5_000) assert.deepEqual([...seen].sort(), Object.keys(DIFFERENCES).sort())
})

async function holdDialogue(dice: Dice, seen: Set<string>): Promise<void> {
  const ours = new MemoryPeer({ limits: { messageBytesMax: MESSAGE_BYTES_MAX } })
  const theirs = new OraclePeer()
  try {
    await holdInStep(dice, seen, ours, theirs)
  } finally {
    theirs.close()
  }
}

async function holdInStep(
  dice: Dice,
  seen: Set<string>,
  ours: MemoryPeer,
  theirs: OraclePeer,
): Promise<void> {
  const transcript: string[] = []
  const say = async (text: string): Promise<[string, string]> => {
    ours.send(text)
    theirs.send(text)
    const replies = await Promise.all([ours.reader.next(), theirs.reader.next()])
    transcript.push(JSON.stringify(text).slice(0, 80), ...replies)
    return replies
  }
  await Promise.all([ours.reader.next(), theirs.reader.next()])
  for (let turn = 3 + dice(16), step = 0; turn > 0; turn -= 1) {
    const isLikely = dice(3) > 0
    const command = isLikely ? LIKELY[step % LIKELY.length] : UNLIKELY[dice(UNLIKELY.length)]
    if (command === undefined) continue
    let [our, their] = await say(command)
    if (isLikely) step += 1
    if (our.startsWith('354') && their.startsWith('354')) {
      ;[our, their] = await say(BODIES[dice(BODIES.length)] ?? '.\r\n')
    } else if (our[0] !== their[0]) {
      const reason = Object.entries(DIFFERENCES).find(([, commands]) => commands.test(command))
      assert.ok(reason, transcript.join('\n'))
      seen.add(reason[0])
      // One of them closes, or waits for a message that the other would read as commands.
      if (/^(221|354|421)/.test(our) || /^(221|354|421)/.test(their)) return
      // Brings both to the same state again.
      const resynchronised = await say('EHLO c.example\r\n')
      our = resynchronised[0]
      their = resynchronised[1]
      step = 1
    }
    assert.equal(our[0], their[0], transcript.join('\n'))
    if (/^(221|421)/.test(our)) break
  }
  assert.deepEqual(ours.receiver.received.map(shown), theirs.received, transcript.join('\n'))
}

// smtp-server hands a repeated recipient over once; here that is up to the receiver.
function shown(message: RecordingReceiver['received'][number]): Shown {
  const { reversePath, recipients } = message.envelope
  return { reversePath, recipients: [...new Set(recipients)], content: message.content.toString() }
}

type Shown = { reversePath: string; recipients: string[]; content: string }

const oracle = new SMTPServer({
  name: 'mx.example',
  size: MESSAGE_BYTES_MAX,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onRcptTo: ({ address }, _session, done) => {
    const { code, text } = judgeRecipient(address)
    done(code < 300 ? null : refusal(code, String(text)))
  },
  onData: (stream, session, done) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const content = Buffer.concat(chunks).toString()
      if (stream.sizeExceeded) return done(refusal(552, 'Too big'))
      if (content.includes('REFUSE')) return done(refusal(550, 'Refused'))
      const { mailFrom, rcptTo } = session.envelope
      const reversePath = mailFrom === false ? '' : mailFrom.address
      const recipients = rcptTo.map((recipient) => recipient.address)
      OraclePeer.receivedBy.get(session.id)?.push({ reversePath, recipients, content })
      return done()
    })
  },
})

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode })
}

class OraclePeer {
  static readonly receivedBy = new Map<string, Shown[]>()
  readonly reader = new ReplyReader()
  readonly received: Shown[] = []
  readonly #socket: LooseSocket
  readonly #id: string

  constructor() {
    this.#socket = new LooseSocket(this.reader)
    const socket = this.#socket
    const connection = new SMTPConnection(oracle, socket, { remoteAddress: '192.0.2.1' })
    connection.on('error', () => {})
    connection._setListeners(() => connection.connectionReady())
    this.#id = connection.id
    OraclePeer.receivedBy.set(this.#id, this.received)
  }

  send(text: string): void {
    this.#socket.push(Buffer.from(text))
  }

  close(): void {
    OraclePeer.receivedBy.delete(this.#id)
    this.#socket.destroy()
  }
}

/** A socket with nothing at its other end: what is pushed was received, what is written is read. */
class LooseSocket extends Socket {
  readonly #reader: ReplyReader

  constructor(reader: ReplyReader) {
    super()
    this.#reader = reader
    Object.defineProperty(this, 'readyState', { value: 'open' })
  }

  override _read(): void {}

  override write(text: string | Uint8Array): boolean {
    this.#reader.push(String(text))
    return true
  }

  override end(): this {
    return this
  }

  override setTimeout(): this {
    return this
  }
}
