import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { runDialogue } from '#test/dialogue-script.ts'
import { MemoryPeer, openSmtpWorld, type Peer } from '#test/smtp-world.ts'

const folder = join(import.meta.dirname, 'dialogues')
const names = readdirSync(folder).filter((name) => name.endsWith('.txt'))

for (const name of names) {
  const script = readFileSync(join(folder, name), 'utf8')
  describe(`the dialogue ${name.slice(0, -4)} runs as written`, () => {
    test('over a socket', async () => {
      await using world = await openSmtpWorld()
      await runDialogue(script, await world.connect(), world.receiver)
    })

    test('over a socket, with a slow receiver', async () => {
      await using world = await openSmtpWorld()
      world.receiver.gate = new Promise((resolve) => setImmediate(resolve))
      await runDialogue(script, await world.connect(), world.receiver)
    })

    test('octet by octet', async () => {
      const peer = new MemoryPeer()
      await runDialogue(script, bytewise(peer), peer.receiver)
    })

    test('octet by octet, with a slow receiver', async () => {
      const peer = new MemoryPeer()
      peer.receiver.gate = Promise.resolve()
      await runDialogue(script, bytewise(peer), peer.receiver)
    })
  })
}

function bytewise(peer: MemoryPeer): Peer {
  return {
    send: (bytes) => peer.sendBytewise(bytes),
    reply: () => peer.reply(),
    end: () => peer.end(),
  }
}
