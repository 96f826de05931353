import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { openSmtpClient } from '@mailroom/smtp/client/smtp-client.ts'
import fc from 'fast-check'
import { mailTo } from '#test/client-world.ts'

const TIMEOUTS = {
  greetingMs: 25,
  replyMs: 25,
  dataMs: 25,
  blockMs: 25,
  handshakeMs: 25,
  finalDotMs: 25,
  quitMs: 20,
}

const segment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      '220 hello\r\n',
      '250 ok\r\n',
      '250-mx\r\n250-PIPELINING\r\n250 SIZE 99\r\n',
      '354 go\r\n',
      '250 ok\r\n250 ok\r\n354 go\r\n',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '550 5.1.1 no\r\n',
      '421 bye\r\n',
      '999 x\r\n',
      '250-STARTTLS\r\n250 AUTH PLAIN\r\n',
      '250-',
      '250',
      '\r\n',
      '\0',
      '',
      'x'.repeat(3_000),
    ),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 12 }).map((octets) => Buffer.from(octets)) },
)

const PIPELINED = [
  '220 hello\r\n',
  '250-mx\r\n250 PIPELINING\r\n',
  '250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n',
  '250 ok\r\n',
  '221 bye\r\n',
]
const ONE_BY_ONE = ['220 hello\r\n', ...Array(4).fill('250 ok\r\n'), '354 go\r\n', '250 ok\r\n']

/** A valid dialogue with up to three of its segments replaced, repeated, removed or added. */
const dialogue = fc
  .tuple(
    fc.constantFrom(PIPELINED, ONE_BY_ONE),
    fc.array(
      fc.record({ at: fc.nat(6), removed: fc.nat(2), added: fc.array(segment, { maxLength: 2 }) }),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([good, changes]) => {
    const said: (string | Buffer)[] = [...good]
    for (const { at, removed, added } of changes) said.splice(at, removed, ...added)
    return said
  })

/** Sends one segment at once and one for each of the client, cut in two; closes after the last. */
async function openBabbler(segments: readonly (string | Buffer)[], cut: number) {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    let at = 0
    const say = () => {
      const next = segments[at]
      at += 1
      if (next === undefined) socket.end()
      else {
        const octets = Buffer.from(next)
        socket.write(octets.subarray(0, cut))
        setImmediate(() => socket.write(octets.subarray(cut)))
      }
    }
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard.push(chunk.toString('latin1'))
      say()
    })
    say()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    heard,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

test('every dialogue ends with outcomes', async () => {
  let accepted = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(dialogue, fc.boolean(), fc.nat(40), async (said, isTls, cut) => {
      const babbler = await openBabbler(said, cut)
      try {
        const opened = await openSmtpClient({
          address: '127.0.0.1',
          port: babbler.port,
          hostname: 'client.example',
          tls: { kind: isTls ? 'opportunistic' : 'none' },
          timeouts: TIMEOUTS,
        })
        if (opened.kind === 'failed') return
        const outcomes = await opened.client.send(mailTo(['b@b.example', 'c@c.example']))
        assert.equal(outcomes.length, 2)
        const heard = babbler.heard.join('')
        for (const outcome of outcomes) {
          if (outcome.kind === 'refused') refused += 1
          if (outcome.kind !== 'accepted') continue
          accepted += 1
          assert.match(heard, /\r\n\.\r\n/)
          assert.ok(outcome.reply.code >= 200 && outcome.reply.code < 300)
        }
        const wasUnsent = outcomes.some(({ kind }) => kind === 'unsent')
        if (wasUnsent) assert.doesNotMatch(heard, /One line\r\n\.\r\n/)
        await opened.client.quit()
      } finally {
        await babbler.close()
      }
    }),
    { numRuns: 400 },
  )
  assert.ok(accepted > 0 && refused > 0, `${accepted} accepted, ${refused} refused`)
})
