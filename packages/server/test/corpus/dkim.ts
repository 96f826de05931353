// The corpus of DKIM: each message verified by the authenticator that the service has, which asks a DNS
// server with the records that lie beside the message. Judged is what becomes of each signature.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { asClientSends } from '@mailroom/mail-reading/test/corpus/message-files.ts'
import { openAuthenticator } from '#inbound/authenticate/authenticate.ts'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { openDns, type Zone } from '#test/peers/dns.ts'

type State = 'SUCCESS' | 'TEMPFAIL' | 'PERMFAIL'

type Expected = {
  readonly Found: number
  readonly Results: readonly { readonly State: State; readonly Domain: string }[]
}

/** Prints what differs and the figure; resolves with the exit code: 1 when anything differs. */
export async function runDkim(folder: string): Promise<number> {
  const lines: string[] = []
  let judged = 0
  let right = 0
  for (const file of filesOf(folder)) {
    const expected = JSON.parse(readFileSync(`${file}.result`, 'utf8')) as Expected
    const read = await verify(file)
    for (const [index, { State: state }] of expected.Results.entries()) {
      judged += 1
      const found = stateOf(read[index])
      if (found === state) right += 1
      else
        lines.push(
          `${basename(file)}: signature ${index + 1}: expected ${state}, read ${read[index]}`,
        )
    }
    if (read.length < expected.Found)
      lines.push(`${basename(file)}: ${read.length} signatures read`)
  }
  lines.push('', `signatures judged as expected: ${right} of ${judged}`)
  process.stdout.write(`${lines.join('\n')}\n`)
  return judged > 0 && lines.length === 2 ? 0 : 1
}

/** Paths, without their endings, of messages beside which a result lies. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.msg'))
    .map((name) => join(folder, dirname(name), basename(name, '.msg')))
    .filter((file) => existsSync(`${file}.result`))
    .sort()
}

async function verify(file: string): Promise<string[]> {
  const zone = existsSync(`${file}.dns`) ? readZone(readFileSync(`${file}.dns`, 'utf8')) : {}
  const dns = await openDns(zone)
  const resolver = openCachingResolver(openResolver({ servers: [dns.server] }))
  const authenticator = openAuthenticator({ resolver, hostname: 'corpus.example' })
  try {
    const { dkim } = await authenticator.authenticate({
      raw: asClientSends(readFileSync(`${file}.msg`)),
      clientAddress: null,
      helo: null,
      reversePath: '',
      author: Promise.resolve({ from: null, authorCount: 0 }),
    })
    return dkim.map(({ result }) => result)
  } finally {
    await authenticator.close()
    await dns.close()
  }
}

function stateOf(result: string | undefined): State | null {
  if (result === undefined) return null
  if (result === 'pass') return 'SUCCESS'
  return result === 'temperror' ? 'TEMPFAIL' : 'PERMFAIL'
}

/** `name: text`, lines joined by a backslash at the end; a fault of DNS in place of the text. */
function readZone(text: string): Zone {
  const texts = new Map<string, string[]>()
  const zone: Zone = {}
  for (const line of text.replace(/\\\n\s*/g, '').split('\n')) {
    const [, name, value] = /^([\w.-]+):\s*(.*)$/.exec(line.trim()) ?? []
    if (name === undefined || value === undefined) continue
    const key = name.toLowerCase()
    if (value === 'TEMPERROR') zone[key] = 'servfail'
    else if (value === 'PERMERROR') zone[key] = 'nxdomain'
    else texts.set(key, [...(texts.get(key) ?? []), value.trim()])
  }
  for (const [name, values] of texts) zone[name] = { TXT: values.map(inStrings) }
  return zone
}

/** RFC 1035 §3.3.14: a string of a record has at most 255 octets. */
function inStrings(value: string): string[] {
  return value.match(/.{1,255}/gs) ?? ['']
}
