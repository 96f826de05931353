// The certificate that STARTTLS shows: the operator's, looked at again and again because certificates
// are renewed, or one made at the first start and kept in the data directory.

import { execFile } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Settings } from '#config/settings.ts'
import { makePrivateFolder, syncFolder } from '#platform/blobs/durable-folder.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import type { Log } from '#platform/log.ts'
import { MINUTE_MS } from '#platform/units.ts'

/** Renewed weeks before it ends: a minute is soon, and costs the reading of two small files. */
const CERTIFICATE_LOOK_MS = MINUTE_MS

type CertificateSettings = Pick<Settings, 'tlsFiles' | 'dataDir' | 'smtpHostname'>

export type ServerTls = {
  /** What the next handshake shows. */
  current(): SecureContext
  /**
   * Looks at the operator's files and takes what they hold now, or keeps what there is and logs why.
   * Runs by itself every CERTIFICATE_LOOK_MS, and then says only what is new. Never rejects.
   */
  reload(): Promise<void>
  close(): void
}

type ServerTlsOptions = {
  readonly now: () => number
  readonly log: Log
  /** Milliseconds between two looks, fewer in tests. */
  readonly lookEveryMs?: number
}

/** Throws when the operator's files hold no certificate with its key. */
export async function openServerTls(
  settings: CertificateSettings,
  options: ServerTlsOptions,
): Promise<ServerTls> {
  const { tlsFiles } = settings
  if (tlsFiles !== null) {
    const pair = await readFiles(tlsFiles)
    return new RenewedTls(tlsFiles, pair, options)
  }
  const made = makeServerTls(await ownCertificate(settings, options.now()))
  return { current: () => made, reload: async () => {}, close: () => {} }
}

type Files = NonNullable<Settings['tlsFiles']>

async function readFiles({ cert, key }: Files): Promise<Certificate> {
  return {
    certificatePem: await readFile(cert, 'utf8'),
    privateKeyPem: await readFile(key, 'utf8'),
  }
}

/** Read as a whole, and not watched: programs that renew put links and folders in each other's place. */
class RenewedTls implements ServerTls {
  readonly #files: Files
  readonly #options: ServerTlsOptions
  readonly #timer: NodeJS.Timeout
  #context: SecureContext
  /** Of the pair that is shown. */
  #seen: string
  #trouble: string | null = null
  #looking: Promise<void> = Promise.resolve()

  constructor(files: Files, pair: Certificate, options: ServerTlsOptions) {
    this.#files = files
    this.#options = options
    this.#context = makeServerTls(pair)
    this.#seen = digestOf(pair)
    const look = () => void this.#afterOthers(() => this.#look())
    this.#timer = setInterval(look, options.lookEveryMs ?? CERTIFICATE_LOOK_MS).unref()
  }

  current(): SecureContext {
    return this.#context
  }

  reload(): Promise<void> {
    return this.#afterOthers(async () => {
      this.#trouble = null
      const before = this.#context
      await this.#look()
      if (this.#trouble === null && this.#context === before) {
        this.#options.log.info({}, 'STARTTLS keeps its certificate')
      }
    })
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #afterOthers(look: () => Promise<void>): Promise<void> {
    this.#looking = this.#looking.then(look)
    return this.#looking
  }

  async #look(): Promise<void> {
    try {
      const pair = await readFiles(this.#files)
      const digest = digestOf(pair)
      if (digest === this.#seen) return this.#settle()
      const context = makeServerTls(pair)
      const { validTo, validToDate, subjectAltName } = new X509Certificate(pair.certificatePem)
      if (validToDate.getTime() <= this.#options.now()) throw new Error(`it ended at ${validTo}`)
      this.#context = context
      this.#seen = digest
      this.#settle()
      const fields = { names: subjectAltName ?? null, until: validToDate.toISOString() }
      this.#options.log.info(fields, 'STARTTLS uses a new certificate')
    } catch (error) {
      this.#tell(error)
    }
  }

  #settle(): void {
    this.#trouble = null
  }

  /** The same trouble once: a file stays wrong until somebody mends it. */
  #tell(error: unknown): void {
    const trouble = error instanceof Error ? error.message : String(error)
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    const fields = { certificate: this.#files.cert, key: this.#files.key, error }
    this.#options.log.error(fields, 'the new certificate is not valid; STARTTLS keeps the old one')
  }
}

function digestOf({ certificatePem, privateKeyPem }: Certificate): string {
  return createHash('sha256')
    .update(certificatePem)
    .update('\0')
    .update(privateKeyPem)
    .digest('hex')
}

/**
 * Made when absent. The pair is one file, put in its place whole: of two processes that start at
 * once, each may make one, and whichever stays is a certificate with its own key.
 */
async function ownCertificate(settings: CertificateSettings, nowMs: number): Promise<Certificate> {
  const folder = join(settings.dataDir, 'tls')
  const file = join(folder, 'self-signed.pem')
  const kept = await readPair(file)
  if (kept !== null) return kept
  const made = await makeSelfSignedCertificate(settings.smtpHostname, nowMs)
  makePrivateFolder(folder)
  const draft = `${file}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`
  try {
    await writeFile(draft, made.privateKeyPem + made.certificatePem, { mode: 0o600, flush: true })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(folder)
  return (await readPair(file)) ?? made
}

/** What is not a key or a certificate is passed over by whoever reads PEM (RFC 7468 §2). */
async function readPair(file: string): Promise<Certificate | null> {
  try {
    const pem = await readFile(file, 'utf8')
    return { certificatePem: pem, privateKeyPem: pem }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

export type Certificate = {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** TLS 1.2 and newer. Throws when the texts are no certificate and key, or do not belong together. */
export function makeServerTls(certificate: Certificate): SecureContext {
  return createSecureContext({
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    minVersion: 'TLSv1.2',
  })
}

const runFile = promisify(execFile)

/** A new EC P-256 key with a certificate for `hostname`, valid from `nowMs` for ten years. */
export async function makeSelfSignedCertificate(
  hostname: string,
  nowMs: number,
): Promise<Certificate> {
  const program = fileURLToPath(new URL('./certificate-process.ts', import.meta.url))
  const { stdout } = await runFile(process.execPath, [program, hostname, String(nowMs)])
  return JSON.parse(stdout) as Certificate
}
