import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { decodeWords } from '@mailroom/mail/encoded-word.ts'
import type { Parser } from '#parser/parser.ts'
import { addressKey, checkEmailAddress, type Names } from '#platform/email-address.ts'
import type { FileReader } from '#platform/workers/file-reader.ts'
import type { Store } from '#store/store.ts'

export type GuardDeps = Store & {
  parser: Parser
  fileReader: FileReader
  /** Null in the sandbox, where no mail leaves the machine. */
  carrier: object | null
}

/** The message as it will be sent, with derived recipients and its quote. */
export type JudgedMessage = {
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  replyTo: string | null
  names: Names
  subject: string
  text: string
  html: string
  headers: readonly { readonly name: string; readonly value: string }[]
  /** Null if the attachments cannot be read. */
  attachments:
    | readonly {
        readonly filename: string
        readonly contentType: string
        readonly contentId: string | null
        readonly content: Uint8Array
      }[]
    | null
  threadId: string | null
  forwardedThreadId: string | null
}

export type Addressed = Pick<JudgedMessage, 'to' | 'cc' | 'bcc' | 'replyTo' | 'headers'>

export type JudgedAddress = {
  readonly address: string
  readonly key: string
}

export function addressesOf({ to, cc, bcc, replyTo }: Addressed): JudgedAddress[] {
  return eachOnce([...to, ...cc, ...bcc, ...(replyTo === null ? [] : [replyTo])])
}

/** Programs unsubscribe, reply or report to addresses in extra header fields. */
export function addressesInFields({ headers }: Addressed): JudgedAddress[] {
  const found = headers.flatMap(({ value }) => {
    const spellings = [...new Set([value, decodeWords(value), percentDecoded(value)])]
    return spellings.flatMap((text) => [
      ...parseAddressList(text).map(({ address }) => address),
      ...(text.replace(MAILTO_PARTS, ' ').match(ADDRESSES) ?? []),
    ])
  })
  return eachOnce(found.filter((address) => checkEmailAddress(address) === null))
}

const ADDRESSES = /[^\s<>()[\]:;,"\\]{1,255}@[\p{L}\p{N}.-]{0,254}[\p{L}\p{N}]/gu
/** Separates addresses in a URL such as `mailto:a@x?cc=b@y` (RFC 6068). */
const MAILTO_PARTS = /(?<=mailto:[^\s>]{0,998})[?&=]/gi

function percentDecoded(value: string): string {
  return value.replace(/%([2-7][0-9a-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function eachOnce(addresses: readonly string[]): JudgedAddress[] {
  const byKey = new Map<string, JudgedAddress>()
  for (const address of addresses) {
    const key = addressKey(address)
    if (!byKey.has(key)) byKey.set(key, { address, key })
  }
  return [...byKey.values()]
}
