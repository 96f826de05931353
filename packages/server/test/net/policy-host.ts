// The HTTPS host of an MTA-STS policy, with a certificate of its own and a script of answers.

import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { TestContext } from 'node:test'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'

export type PolicyHost = {
  readonly port: number
  /** The certificate that a client must trust. */
  readonly ca: string
  /** Paths with the Host field. */
  readonly requests: string[]
  /** The answer to the next requests. */
  answer: (response: ServerResponse, request: IncomingMessage) => void
}

/** Closed with the test. Its certificate is for `hostname`. */
export async function openPolicyHost(t: TestContext, hostname: string): Promise<PolicyHost> {
  const certificate = await makeSelfSignedCertificate(hostname, Date.now())
  const requests: string[] = []
  const server = createServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const host: PolicyHost = {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    ca: certificate.certificatePem,
    requests,
    answer: (response) => response.writeHead(404).end(),
  }
  server.on('request', (request, response) => {
    requests.push(`${request.headers.host} ${request.url}`)
    host.answer(response, request)
  })
  return host
}

/** An answer that serves `text` as plain text. */
export function serve(text: string): PolicyHost['answer'] {
  return (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(text)
}
