import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { connect as startTls } from 'node:tls'
import { BOMBS } from '@mailroom/mail/test/samples.ts'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import type { Sender } from '#test/peers/sender.ts'
import { figure, hangUp, MANY, openIntake } from '#test/scenarios/intake-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

/** Kinds of mail that take long to parse, or much memory. */
const THREE = ['20,000 attachments', '1 MiB of folding', '50,000 parameter continuations']

onEachEngine('threads that receive mail', (engine) => {
  const world = opened(() => openTenant(engine))
  const intake = opened(() => openIntake(world))

  test('have hostile mail parsed elsewhere, and serve their other connections meanwhile', async () => {
    const inbox = await world.inbox()
    const parsed = () => figure(intake, 'mailroom_parse_duration_seconds_count{thread="worker"}')
    const before = await parsed()
    const senders = await intake.connect(MANY)
    const mails = senders.map((sender, index) => {
      const bomb = BOMBS.get(THREE[index] ?? '')
      return sender.send({ to: inbox.address, raw: bomb?.() ?? plainMail({}) })
    })
    const replies = await Promise.all(mails)
    assert.deepEqual(new Set(replies.map(({ code }) => code)), new Set([250]))
    await until(async () => (await parsed()) - before === THREE.length)
    assert.ok(senders.every(({ socket }) => !socket.closed))
    await hangUp(senders)
  })

  test('offer a renewed certificate in all', async () => {
    const made = await makeSelfSignedCertificate('renewed.example', Date.now())
    await writeFile(intake.files.cert, made.certificatePem)
    await writeFile(intake.files.key, made.privateKeyPem)
    await intake.tls.reload()
    const senders = await intake.connect(MANY)
    const names = await Promise.all(senders.map(certificateName))
    assert.deepEqual(new Set(names), new Set(['renewed.example']))
    await until(async () => intake.threads.stats().connections === 0)
  })
})

suite('a thread that receives mail and hangs', () => {
  const world = opened(() => openTenant('sqlite'))
  const intake = opened(() => openIntake(world, { threads: 1, silenceMsMax: 3_000 }))

  test('is ended, and another takes its place', async () => {
    const inbox = await world.inbox()
    const [sender] = await intake.connect(1)
    assert.ok(sender !== undefined)
    intake.trouble(0, 'hang')
    await until(async () => !intake.threads.isListening())
    assert.equal(sender.socket.closed, false, 'it is not ready before its connections end')
    await until(async () => intake.lines.some((line) => /did not answer for 3 seconds/.test(line)))
    await until(async () => intake.threads.isListening())
    await until(async () => sender.socket.closed)
    const [next] = await intake.connect(1)
    assert.equal((await next?.send({ to: inbox.address, raw: plainMail({}) }))?.code, 250)
    await next?.quit()
  })
})

async function certificateName(sender: Sender): Promise<string | undefined> {
  assert.equal((await sender.command('STARTTLS')).code, 220)
  const secure = startTls({ socket: sender.socket, rejectUnauthorized: false })
  await once(secure, 'secureConnect')
  const name = secure.getPeerCertificate().subject.CN
  secure.resume().end('QUIT\r\n')
  await once(secure, 'close')
  return typeof name === 'string' ? name : name?.[0]
}
