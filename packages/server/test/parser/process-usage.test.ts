import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { cpuMsOf } from '#platform/workers/process-usage.ts'

const skip = process.platform === 'linux' ? false : 'It is known on Linux alone.'

test('the processor time of a process counts its work and not its waiting', { skip }, async () => {
  const program = `
    const end = performance.now() + 300
    while (performance.now() < end);
    process.send('worked')
    setTimeout(() => {}, 60_000)`
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  try {
    await once(child, 'message')
    const worked = (await cpuMsOf(child.pid)) ?? 0
    // On a busy machine it had less than the 300 ms of the clock.
    assert.ok(worked >= 50 && worked < 5_000, `${worked} ms`)
    await pause(500)
    const waited = ((await cpuMsOf(child.pid)) ?? 0) - worked
    assert.ok(waited < 400, `${waited} ms while it waited`)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  assert.equal(await cpuMsOf(child.pid), null)
})
