// SIGHUP to a service that runs: it reads its certificate again and goes on.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import { Service } from './service.ts'

const WAIT_MS_MAX = 30_000

test('told to by SIGHUP a service takes its renewed certificate, and goes on', async (t) => {
  const place = await Service.prepare()
  t.after(() => place.close())
  const cert = `${place.dataDir}-cert.pem`
  const key = `${place.dataDir}-key.pem`
  const put = async () => {
    const made = await makeSelfSignedCertificate('mail.example', Date.now())
    await writeFile(cert, made.certificatePem)
    await writeFile(key, made.privateKeyPem)
  }
  await put()
  const service = await Service.start({
    dataDir: join(place.dataDir, 'of-it'),
    env: { MAILROOM_TLS_CERT: cert, MAILROOM_TLS_KEY: key },
  })
  t.after(() => service.close())
  await put()
  service.signal('SIGHUP')
  const deadlineMs = performance.now() + WAIT_MS_MAX
  while (!/STARTTLS uses a new certificate/.test(service.log)) {
    assert.ok(performance.now() < deadlineMs, service.log)
    await sleep(20)
  }
  const { code, output } = await service.command('health', '--ready')
  assert.deepEqual([code, output], [0, 'The service answers.\n'])
  assert.equal((await service.stop()).code, 0)
})
