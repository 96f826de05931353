// SIGHUP makes a running service read its certificate again.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { Service } from './service.ts'

const WAIT_MS_MAX = 30_000

test('after SIGHUP a service uses its renewed certificate and keeps running', async (t) => {
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
  await until(async () => /STARTTLS uses a new certificate/.test(service.log), WAIT_MS_MAX)
  const { code, output } = await service.command('admin', 'health', '--ready')
  assert.deepEqual([code, output], [0, 'The service answers.\n'])
  assert.equal((await service.stop()).code, 0)
})
