// The disk of the service is full: the service refuses writes with replies that make peers retry, still reads and
// deletes, and recovers by itself when there is room.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Inbox, MailroomError } from '@mailroom/sdk'
import type { Sender } from '#test/peers/sender.ts'
import { plainMail } from '#test/world.ts'
import { type Acknowledged, compareReceived } from './intake.ts'
import { Service } from './service.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'
import { readStored } from './stored.ts'

const DISK_MEGABYTES = 16
/** Guards against hanging: the aims are 1 s and 5 s. */
const REFUSAL_MS_MAX = 15_000
const RECOVERY_MS_MAX = 30_000

suite('a full disk', () => {
  test('filled by mail (a mounted tmpfs) is emptied by deleting an inbox', async (t) => {
    const place = await openPlace(t)
    if (place === null) return
    const { service, kept, flooded } = place
    await place.send(kept)
    await place.fillByMail(flooded)
    await place.assertRefusing(kept)
    await service.client.inboxes.delete(flooded.id)
    await place.assertRecovering(kept)
    place.forget(flooded)
    await place.assertNothingLost()
  })

  test('filled by others (a mounted tmpfs) allows starts, reads and deletions, and the service recovers once there is room', async (t) => {
    const place = await openPlace(t)
    if (place === null) return
    const { service, disk, kept, flooded } = place
    for (let count = 0; count < 20; count++) await place.send(kept)
    await disk.fill()
    await place.fillByMail(kept)
    await place.assertRefusing(kept)
    await restartOnFull(service, disk)
    await place.assertRefusing(kept)
    await service.client.inboxes.delete(flooded.id)
    await restartOnFull(service, disk)
    await place.assertReading(kept)
    await disk.clear()
    await place.assertRecovering(kept)
    await place.assertNothingLost()
  })

  test('reached as a limit on the size of files is met with 4yz and 503, and nothing is lost', async (t) => {
    // Every machine has the shell's limit, in blocks of 512 or 1,024 bytes.
    const limit = `trap '' XFSZ; ulimit -f 8192; exec "$@"`
    const service = await Service.start({
      wrap: (command) => ['sh', '-c', limit, 'sh', ...command],
    })
    t.after(() => service.close())
    const place = await settle(t, service)
    await place.send(place.kept)
    await place.fillByMail(place.flooded)
    const refusal = await place.offer(place.kept)
    assert.match(String(refusal), /^45[12]$/)
    await place.assertReading(place.kept)
    await place.assertNothingLost()
  })
})

/** A clean end frees the room of the log: that is filled too. */
async function restartOnFull(service: Service, disk: SmallDisk): Promise<void> {
  assert.equal((await service.stop()).code, 0)
  await disk.fill()
  await service.start()
}

type Place = Awaited<ReturnType<typeof settle>>

async function openPlace(t: TestContext): Promise<(Place & { disk: SmallDisk }) | null> {
  const disk = await mountSmallDisk(DISK_MEGABYTES)
  if (disk === null) {
    t.skip('this user may not mount a tmpfs; the limit on the size of files stands in for it')
    return null
  }
  try {
    const service = await Service.start({ dataDir: join(disk.path, 'data') })
    t.after(async () => {
      await service.close()
      await disk.remove()
    })
    return { ...(await settle(t, service)), disk }
  } catch (error) {
    await disk.remove()
    throw error
  }
}

/** Two inboxes, and what the tests do with them. */
async function settle(t: TestContext, service: Service) {
  const [kept, flooded] = await Promise.all(
    ['kept', 'flooded'].map((mailboxName) => service.client.inboxes.create({ mailboxName })),
  )
  assert.ok(kept !== undefined && flooded !== undefined)
  let acknowledged: Acknowledged[] = []
  let number = 0
  let sender: Sender | null = null

  /** The code that answered the message. */
  const offer = async (inbox: Inbox) => {
    if (sender === null || sender.socket.destroyed) sender = await service.sender()
    number += 1
    const messageId = `<${number}@full.example>`
    const sizeBytes = number % 7 === 0 ? 200_000 : 20_000
    const body = `${hash('sha256', messageId, 'hex')}\r\n`.repeat(sizeBytes / 66)
    const raw = plainMail({ to: inbox.address, messageId, body })
    const startMs = performance.now()
    const { code, lines } = await sender.send({ to: inbox.address, raw })
    const tookMs = performance.now() - startMs
    if (code === 250) {
      const sha256 = hash('sha256', raw, 'hex')
      acknowledged.push({ messageId, inboxIds: [inbox.id], sha256 })
    } else {
      assert.ok(tookMs < REFUSAL_MS_MAX, `refused after ${Math.round(tookMs)} ms`)
      if (code === 452) assert.match(lines[0] ?? '', /^4\.3\.1 /)
      await sender.command('RSET')
    }
    return code
  }

  const assertReading = async (inbox: Inbox) => {
    const { data, total } = await service.client.messages.list(inbox.id, { limit: 100 }).page()
    assert.equal(total, acknowledged.filter(({ inboxIds }) => inboxIds.includes(inbox.id)).length)
    const raw = await service.client.messages.raw(data[0]?.id ?? '')
    const sha256 = hash('sha256', raw.content, 'hex')
    assert.ok(acknowledged.some((message) => message.sha256 === sha256))
  }

  return {
    service,
    kept,
    flooded,
    offer,
    assertReading,
    async send(inbox: Inbox) {
      assert.equal(await offer(inbox), 250)
    },
    /** Until nothing of any size is taken any more. */
    async fillByMail(inbox: Inbox) {
      const codes = new Map<number, number>()
      for (let refused = 0; refused < 20; ) {
        const code = await offer(inbox)
        codes.set(code, (codes.get(code) ?? 0) + 1)
        refused = code === 250 ? 0 : refused + 1
        assert.ok(number < 5_000, 'the disk can be filled')
      }
      t.diagnostic(`filled by mail, answers: ${JSON.stringify(Object.fromEntries(codes))}`)
      const unexpected = [...codes.keys()].filter((code) => ![250, 451, 452].includes(code))
      assert.deepEqual(unexpected, [])
    },
    async assertRefusing(inbox: Inbox) {
      assert.equal(await offer(inbox), 452)
      const [thread] = (await service.client.threads.list(inbox.id, { limit: 1 }).page()).data
      for (const write of [
        () => service.client.inboxes.create({}),
        () => service.client.threads.update(thread?.id ?? '', { is_read: true }),
        () => service.client.pods.create({}),
      ]) {
        const startMs = performance.now()
        // A write of a few bytes may still find room in the log.
        await write().catch((error) => {
          assert.ok(error instanceof MailroomError, String(error))
          assert.equal(error.status, 503)
          assert.ok(error.retryAfterSeconds !== null, 'the answer says when to try again')
        })
        assert.ok(performance.now() - startMs < REFUSAL_MS_MAX)
      }
      await assertReading(inbox)
    },
    async assertRecovering(inbox: Inbox) {
      const startMs = performance.now()
      while ((await offer(inbox)) !== 250) {
        assert.ok(performance.now() - startMs < RECOVERY_MS_MAX, 'mail is taken again in time')
        await sleep(50)
      }
      t.diagnostic(`mail was taken again after ${Math.round(performance.now() - startMs)} ms`)
      await service.client.inboxes.create({})
    },
    forget(inbox: Inbox) {
      acknowledged = acknowledged.filter(({ inboxIds }) => !inboxIds.includes(inbox.id))
    },
    async assertNothingLost() {
      assert.doesNotMatch(service.log, /"status":500|because of an internal error/)
      await sender?.quit()
      assert.equal((await service.stop()).code, 0)
      compareReceived(acknowledged, (await readStored(service)).received)
    },
  }
}
