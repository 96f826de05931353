// One connection of the receiving server of `mta.ts`: reads commands and content, answers by its script, and hands
// over complete messages.

import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import {
  decide,
  type MtaAnswer,
  type MtaMessage,
  type MtaScript,
  perform,
  replyOf,
} from './mta-script.ts'

export type MtaRecord = {
  readonly script: MtaScript
  /** A message up to its final dot, before the reply. */
  onMessage(message: MtaMessage, reply: string): void
  onCommand(line: string, connection: number): void
  countRcpt(address: string): number
  countMessage(): number
}

const DEFAULT_EXTENSIONS = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES']
const END = Buffer.from('\r\n.\r\n')

export class MtaConnection {
  readonly #record: MtaRecord
  readonly #number: number
  readonly #plain: Socket
  #socket: Socket
  #input = Buffer.alloc(0)
  #content: Buffer[] | null = null
  #isBusy = false
  #authUser: string | null = null
  #mail: { reversePath: string; parameters: string } | null = null
  #recipients: string[] = []

  constructor(record: MtaRecord, socket: Socket, number: number) {
    this.#record = record
    this.#plain = socket
    this.#socket = socket
    this.#number = number
    void this.#open()
  }

  async #open(): Promise<void> {
    const { tls, isTlsImplicit, hostname = 'mta.example', greeting } = this.#script
    if (isTlsImplicit) this.#startTls(tls)
    else this.#listen(this.#socket)
    this.#isBusy = true
    await this.#answer(decide(greeting, [this.#number], `220 ${hostname} ESMTP`))
    this.#isBusy = false
    await this.#pump()
  }

  #listen(socket: Socket): void {
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      if (this.#socket !== socket) return
      this.#input = Buffer.concat([this.#input, chunk])
      void this.#pump()
    })
  }

  async #pump(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (!this.#socket.destroyed) {
      if (this.#content !== null) {
        if (!this.#takeContent()) break
        await this.#endContent()
      } else {
        const line = this.#takeLine()
        if (line === null) break
        this.#record.onCommand(line, this.#number)
        await this.#obey(line)
      }
    }
    this.#isBusy = false
  }

  #takeLine(): string | null {
    const end = this.#input.indexOf('\r\n')
    if (end === -1) return null
    const line = this.#input.toString('utf8', 0, end)
    this.#input = this.#input.subarray(end + 2)
    return line
  }

  /** Whether the content is complete; the octets after it stay in the input. */
  #takeContent(): boolean {
    const content = this.#content ?? []
    const last = content.pop() ?? Buffer.alloc(0)
    const seam = Buffer.concat([last, this.#input])
    const end = seam.indexOf(END)
    if (end === -1) {
      // Only the last octets can be the beginning of the end, so that no megabyte is copied twice.
      const cut = Math.max(0, seam.length - END.length)
      content.push(seam.subarray(0, cut), seam.subarray(cut))
      this.#input = Buffer.alloc(0)
      return false
    }
    content.push(seam.subarray(0, end + 2))
    this.#input = seam.subarray(end + END.length)
    return true
  }

  async #endContent(): Promise<void> {
    // The first two octets are the CRLF of DATA's own line, in case the message is empty.
    const stuffed = Buffer.concat(this.#content ?? []).subarray(2)
    this.#content = null
    const message: MtaMessage = {
      reversePath: this.#mail?.reversePath ?? '',
      mailParameters: this.#mail?.parameters ?? '',
      recipients: this.#recipients,
      raw: Buffer.from(stuffed.toString('latin1').replace(/(^|\r\n)\./g, '$1'), 'latin1'),
      tls: this.#tlsSocket?.getProtocol() ?? null,
      servername: this.#servername,
      connection: this.#number,
      authUser: this.#authUser,
    }
    this.#reset()
    const { onFinalDot } = this.#script
    const count = this.#record.countMessage()
    const answer = await decide(onFinalDot, [message, count], '250 2.0.0 Ok: queued')
    this.#record.onMessage(message, replyOf(answer))
    await this.#perform(answer)
  }

  get #script(): MtaScript {
    return this.#record.script
  }

  get #tlsSocket(): TLSSocket | null {
    return this.#socket instanceof TLSSocket ? this.#socket : null
  }

  get #servername(): string | null {
    const socket = this.#tlsSocket
    if (socket === null || !('servername' in socket)) return null
    return typeof socket.servername === 'string' ? socket.servername : null
  }

  #perform(answer: MtaAnswer): Promise<void> {
    return perform(answer, this.#socket, this.#plain)
  }

  async #obey(line: string): Promise<void> {
    const script = this.#script
    const [verb = ''] = line.toUpperCase().split(/[ :]/)
    switch (verb) {
      case 'EHLO':
        this.#reset()
        return void (await this.#answer(decide(script.onEhlo, [line.slice(5)], this.#greetBack())))
      case 'HELO':
        this.#reset()
        return void (await this.#answer(decide(script.onHelo, [line.slice(5)], '250 mta.example')))
      case 'STARTTLS':
        return this.#upgrade()
      case 'AUTH':
        return this.#authenticate(line)
      case 'MAIL':
        return this.#takeMail(line)
      case 'RCPT':
        return this.#takeRcpt(line)
      case 'DATA':
        return this.#takeData()
      case 'RSET':
        this.#reset()
        return void (await this.#answer(decide(script.onRset, [], '250 2.0.0 Ok')))
      case 'QUIT':
        await this.#answer(decide(script.onQuit, [], '221 2.0.0 Bye'))
        this.#socket.end()
        return
      default:
        this.#socket.write('500 5.5.1 Command not recognized\r\n')
    }
  }

  #greetBack(): string {
    const { hostname = 'mta.example', extensions = DEFAULT_EXTENSIONS, tls, auth } = this.#script
    const lines = [hostname, ...extensions]
    if (tls !== undefined && this.#tlsSocket === null) lines.push('STARTTLS')
    if (auth !== undefined) lines.push(`AUTH ${auth.mechanisms ?? 'PLAIN LOGIN'}`)
    return lines.map((line, at) => `250${at === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n')
  }

  async #takeMail(line: string): Promise<void> {
    const match = /^MAIL FROM:<(.*?)>(?: (.*))?$/i.exec(line)
    if (match === null) return this.#perform('501 5.5.4 Syntax')
    if (this.#mail !== null) return this.#perform('503 5.5.1 Nested MAIL')
    const [, reversePath = '', parameters = ''] = match
    const answer = decide(this.#script.onMail, [reversePath, this.#number], '250 2.1.0 Ok')
    if (await this.#answer(answer)) this.#mail = { reversePath, parameters }
  }

  async #takeRcpt(line: string): Promise<void> {
    const address = /^RCPT TO:<(.*)>$/i.exec(line)?.[1]
    if (address === undefined) return this.#perform('501 5.5.4 Syntax')
    const otherwise = this.#mail === null ? '503 5.5.1 MAIL first' : '250 2.1.5 Ok'
    const count = this.#record.countRcpt(address)
    const answer = decide(this.#script.onRcpt, [address, count], otherwise)
    if (await this.#answer(answer)) this.#recipients.push(address)
  }

  async #takeData(): Promise<void> {
    const otherwise =
      this.#recipients.length === 0 ? '554 5.5.1 No valid recipients' : '354 Go ahead'
    const answer = await decide(this.#script.onData, [this.#recipients], otherwise)
    if (replyOf(answer).startsWith('3')) {
      this.#content = [Buffer.from('\r\n')]
      if (this.#script.isDeafToContent) this.#socket.pause()
    }
    await this.#perform(answer)
  }

  async #authenticate(line: string): Promise<void> {
    const { auth } = this.#script
    const [, mechanism = '', initial = ''] = line.split(' ')
    let user = ''
    let password = ''
    if (mechanism.toUpperCase() === 'PLAIN') {
      const decoded = Buffer.from(initial, 'base64').toString().split('\0')
      user = decoded[1] ?? ''
      password = decoded[2] ?? ''
    } else {
      user = await this.#prompt('334 VXNlcm5hbWU6')
      password = await this.#prompt('334 UGFzc3dvcmQ6')
    }
    const isRight = user === auth?.user && password === auth.password
    if (isRight) this.#authUser = user
    const wrong = `535 5.7.8 Wrong: ${user} ${password} ${initial}`
    await this.#perform(isRight ? '235 2.7.0 Welcome' : wrong)
  }

  async #prompt(text: string): Promise<string> {
    this.#socket.write(`${text}\r\n`)
    for (;;) {
      const line = this.#takeLine()
      if (line !== null) return Buffer.from(line, 'base64').toString()
      const socket = this.#socket
      if (socket.destroyed) return ''
      await new Promise<void>((resolve) => {
        socket.once('data', () => resolve())
        socket.once('close', () => resolve())
      })
    }
  }

  async #upgrade(): Promise<void> {
    const { tls, injected = '', onStartTls } = this.#script
    const answer = await decide(onStartTls, [], '220 2.0.0 Ready')
    if (!replyOf(answer).startsWith('2') || tls === undefined) {
      return this.#perform(answer)
    }
    await this.#perform({ octets: `${replyOf(answer)}\r\n${injected}` })
    this.#startTls(tls)
  }

  #startTls(tls: MtaScript['tls']): void {
    const plain = this.#socket
    if (tls === undefined) return
    if (tls === 'stall') {
      // Later octets of the client are not read as commands.
      plain.removeAllListeners('data')
      plain.on('error', () => {}).resume()
      return
    }
    if (tls === 'close') return void plain.destroySoon()
    if (tls === 'garbage') {
      plain.once('data', () => plain.write('this is no handshake\r\n'.repeat(20)))
      return
    }
    plain.removeAllListeners('data')
    plain.on('error', () => {})
    this.#socket = wrap(plain, tls)
    this.#listen(this.#socket)
    this.#reset()
    this.#input = Buffer.alloc(0)
  }

  #reset(): void {
    this.#mail = null
    this.#recipients = []
  }

  /** Whether the reply was positive. */
  async #answer(decided: Promise<MtaAnswer>): Promise<boolean> {
    const answer = await decided
    await this.#perform(answer)
    return replyOf(answer).startsWith('2')
  }
}

function wrap(plain: Socket, secureContext: SecureContext): TLSSocket {
  return new TLSSocket(plain, { isServer: true, secureContext })
}
