// A key for this terminal by the approval of somebody who is signed in to the console.

import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { MailroomError } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import type { Output } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { openWith } from '#session/open-session.ts'

/** Half of what the service lets one address ask. */
const POLL_MS = 2_000
const CLIENT_NAME_LENGTH_MAX = 100

/** The key, once it is approved. */
export async function pair(output: Output, baseUrl: string): Promise<string> {
  const { pairing } = openWith(baseUrl, 'none').client
  const clientName = plainLine(`mailroom on ${hostname()}`).slice(0, CLIENT_NAME_LENGTH_MAX)
  const started = await pairing.start({ clientName })
  const { requestId, userCode, verifyUrl, expiresInSeconds } = started
  output.note(`Open ${plainLine(verifyUrl)}`)
  output.note(`and approve it if it shows the code ${output.noteColors.bold(plainLine(userCode))}`)
  const endMs = performance.now() + expiresInSeconds * 1_000
  while (performance.now() < endMs) {
    output.progress('Waiting for approval …')
    await sleep(POLL_MS)
    const polled = await pairing.poll({ requestId }).catch(explainGone)
    if ('apiKey' in polled && typeof polled.apiKey === 'string') return polled.apiKey
  }
  throw new Failure(
    'timeout',
    'The request was not approved in time.',
    'Run "mailroom login" again.',
  )
}

function explainGone(error: unknown): never {
  if (!(error instanceof MailroomError) || error.status !== 404) throw error
  throw new Failure(
    'refused',
    'The request was denied or has expired.',
    'Run "mailroom login" again.',
  )
}
