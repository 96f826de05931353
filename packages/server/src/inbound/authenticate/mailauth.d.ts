// Types of the parts of mailauth that we use. Its own types are incomplete and too narrow.

type MailauthResolver = (name: string, type: string) => Promise<unknown[]>

declare module 'mailauth/lib/spf/index.js' {
  export function spf(options: {
    sender: string
    ip: string
    helo: string
    mta: string
    resolver: MailauthResolver
    /** The evaluation results in a temperror after this many milliseconds. */
    maxElapsedTime: number
    strict: boolean
  }): Promise<{
    domain: string
    status: { result: string; smtp?: { mailfrom?: string; helo?: string } }
  }>
}

declare module 'mailauth/lib/dmarc/index.js' {
  export function evaluateDmarc(options: {
    headerFrom: string[]
    fromFields: number
    spfDomains: { domain: string }[]
    dkimDomains: { domain: string }[]
    resolver: MailauthResolver
    strict: boolean
  }): Promise<{
    /** False means that the address has no domain, or more than one. */
    response:
      | false
      | {
          status: { result: string }
          policy?: string
          rr?: string
          alignment?: { spf: { strict: boolean }; dkim: { strict: boolean } }
        }
  }>
}

declare module 'mailauth/lib/arc/index.js' {
  import type { ArcData, KeyCache } from 'mailauth/lib/dkim/dkim-verifier.js'

  export function arc(
    data: ArcData,
    options: { resolver: KeyCache['resolver']; minBitLength: number; strict: boolean },
  ): Promise<{ status: { result: string } }>
  export function sealMessage(
    message: Buffer,
    seal: {
      signingDomain: string
      selector: string
      privateKey: string
      authResults: string
      cv: 'none'
    },
  ): Promise<Buffer>
}

declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  import type { KeyObject } from 'node:crypto'
  export type Key = {
    publicKey: string | KeyObject
    keyType: string
  }
  export type KeyOptions = { strict?: boolean; hashAlgo?: string }
  export type KeyCache = {
    resolver: MailauthResolver
    get(type: string, name: string, minBitLength: number, options?: KeyOptions): Promise<Key>
  }
  export type SignatureHeader = {
    type: 'DKIM' | 'ARC'
    signingDomain: string
    selector: string
    signAlgo: string
    hashAlgo: string
    bodyCanon: string
    maxBodyLength: number | ''
    parsed?: { h?: { value?: unknown }; c?: unknown }
    fallbackCanonicalization?: string
    skip?: string
    /** Set if the signature is invalid in itself; its key is then not requested. */
    invalid?: string
  }
  export type ArcData = { chain: false | unknown[]; error?: unknown; keyCache: KeyCache }
  export class DkimVerifier {
    constructor(options: {
      resolver: MailauthResolver
      strict: boolean
      minBitLength: number
      sender: string
      curTime: Date
    })
    keyCache: KeyCache
    readonly arc: ArcData
    readonly signatureHeaders: SignatureHeader[]
    readonly results: {
      signingDomain?: string
      selector?: string
      status: { result: string; comment?: string; underSized?: number }
    }[]
    headerFrom: string[]
    readonly fromFields: number
    readonly headers: { readonly parsed: readonly { readonly key: string | undefined }[] }
    emitHeaders(section: Uint8Array): Promise<void>
    prepareSignature(header: SignatureHeader): void
    nextChunk(body: Uint8Array): Promise<void>
    finish(): Promise<void>
  }
}

declare module 'mailauth/lib/tools.js' {
  import type { Key, KeyOptions } from 'mailauth/lib/dkim/dkim-verifier.js'

  export function getPublicKey(
    type: string,
    name: string,
    minBitLength: number,
    resolver: MailauthResolver,
    options?: KeyOptions,
  ): Promise<Key>
  export function getAlignment(
    domain: string,
    domains: string[],
    strict: boolean,
  ): { domain: string } | false
  export function toALabel(name: string): string
}
