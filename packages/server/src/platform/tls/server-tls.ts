// The certificate for STARTTLS: the operator's, which is reread because certificates are renewed,
// or a self-signed one that is created at the first start.

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

const CERTIFICATE_CHECK_MS = MINUTE_MS

type CertificateSettings = Pick<Settings, 'tlsFiles' | 'dataDir' | 'smtpHostname'>

export type ServerTls = {
  current(): SecureContext
  /** The pair behind `current`, for other threads. */
  certificate(): Certificate
  listen(run: () => void): void
  /** Keeps the old pair and logs why if the new one is not valid. Never rejects. */
  reload(): Promise<void>
  close(): void
}

type ServerTlsOptions = {
  readonly now: () => number
  readonly log: Log
  readonly checkEveryMs?: number
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
  const pair = await ownCertificate(settings, options.now())
  const made = makeServerTls(pair)
  return {
    current: () => made,
    certificate: () => pair,
    listen: () => {},
    reload: async () => {},
    close: () => {},
  }
}

type Files = NonNullable<Settings['tlsFiles']>

async function readFiles({ cert, key }: Files): Promise<Certificate> {
  return {
    certificatePem: await readFile(cert, 'utf8'),
    privateKeyPem: await readFile(key, 'utf8'),
  }
}

/** Polls files instead of watching them, because renewal replaces links and folders. */
class RenewedTls implements ServerTls {
  readonly #files: Files
  readonly #options: ServerTlsOptions
  readonly #timer: NodeJS.Timeout
  readonly #listeners: (() => void)[] = []
  #pair: Certificate
  #context: SecureContext
  #seen: string
  #problem: string | null = null
  #checking: Promise<void> = Promise.resolve()

  constructor(files: Files, pair: Certificate, options: ServerTlsOptions) {
    this.#files = files
    this.#options = options
    this.#pair = pair
    this.#context = makeServerTls(pair)
    this.#seen = digestOf(pair)
    const check = () => void this.#inOrder(() => this.#check())
    this.#timer = setInterval(check, options.checkEveryMs ?? CERTIFICATE_CHECK_MS).unref()
  }

  current(): SecureContext {
    return this.#context
  }

  certificate(): Certificate {
    return this.#pair
  }

  listen(run: () => void): void {
    this.#listeners.push(run)
  }

  reload(): Promise<void> {
    return this.#inOrder(async () => {
      this.#problem = null
      const before = this.#context
      await this.#check()
      if (this.#problem === null && this.#context === before) {
        this.#options.log.info({}, 'STARTTLS keeps its certificate')
      }
    })
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #inOrder(check: () => Promise<void>): Promise<void> {
    this.#checking = this.#checking.then(check)
    return this.#checking
  }

  async #check(): Promise<void> {
    try {
      const pair = await readFiles(this.#files)
      const digest = digestOf(pair)
      if (digest === this.#seen) {
        this.#problem = null
        return
      }
      const context = makeServerTls(pair)
      const { validTo, validToDate, subjectAltName } = new X509Certificate(pair.certificatePem)
      if (validToDate.getTime() <= this.#options.now()) throw new Error(`it ended at ${validTo}`)
      this.#pair = pair
      this.#context = context
      this.#seen = digest
      this.#problem = null
      const fields = { names: subjectAltName ?? null, until: validToDate.toISOString() }
      this.#options.log.info(fields, 'STARTTLS uses a new certificate')
      for (const run of this.#listeners) run()
    } catch (error) {
      this.#logOnce(error)
    }
  }

  /** A file stays wrong until it is corrected, so the same problem is logged once. */
  #logOnce(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error)
    if (problem === this.#problem) return
    this.#problem = problem
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

/** Certificate and key are in one file, so that they match even if two processes start at once. */
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

/** Readers of PEM ignore everything else in the file (RFC 7468 §2). */
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

/** TLS 1.2 and newer. Throws when the texts are not a certificate and its key. */
export function makeServerTls(certificate: Certificate): SecureContext {
  return createSecureContext({
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    minVersion: 'TLSv1.2',
  })
}

const runFile = promisify(execFile)

/** A new EC P-256 key with a certificate that is valid for ten years from `nowMs`. */
export async function makeSelfSignedCertificate(
  hostname: string,
  nowMs: number,
): Promise<Certificate> {
  const program = fileURLToPath(new URL('./certificate-process.ts', import.meta.url))
  const { stdout } = await runFile(process.execPath, [program, hostname, String(nowMs)])
  return JSON.parse(stdout) as Certificate
}
