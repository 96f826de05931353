// Messages for tests, built from parts, and inputs made to exhaust a parser.

/** Lines joined by CRLF, as octets; text is UTF-8. */
export function message(...lines: readonly string[]): Uint8Array {
  return Buffer.from(lines.join('\r\n'), 'utf8')
}

export type Part = { readonly fields: readonly string[]; readonly body: string }

/** A multipart body of its own boundary, with the fields that announce it. */
export function multipart(subtype: string, boundary: string, parts: readonly Part[]): Part {
  const body = parts.map(({ fields, body }) => [`--${boundary}`, ...fields, '', body].join('\r\n'))
  return {
    fields: [`Content-Type: multipart/${subtype}; boundary="${boundary}"`],
    body: [...body, `--${boundary}--`, ''].join('\r\n'),
  }
}

export const ENVELOPE_FIELDS = [
  'From: Ada <ada@sender.example>',
  'To: Box <box@mailroom.example>',
  'Subject: Sample',
  'Message-ID: <sample@sender.example>',
  'MIME-Version: 1.0',
]

export function messageOf(part: Part): Uint8Array {
  return message(...ENVELOPE_FIELDS, ...part.fields, '', part.body)
}

export function part(body: string, ...fields: readonly string[]): Part {
  return { fields, body }
}

export function textPart(body: string, ...fields: readonly string[]): Part {
  return { fields: ['Content-Type: text/plain; charset=utf-8', ...fields], body }
}

export function filePart(name: string, content: Uint8Array, type = 'application/pdf'): Part {
  const body = Buffer.from(content).toString('base64').replace(/.{76}/g, '$&\r\n')
  return {
    fields: [
      `Content-Type: ${type}`,
      'Content-Transfer-Encoding: base64',
      `Content-Disposition: attachment; filename="${name}"`,
    ],
    body,
  }
}

const MIB = 1024 * 1024
const PLAIN = 'text/plain; charset=utf-8'

/** Name and octets of inputs made to exhaust a parser; built on demand. */
export const BOMBS: ReadonlyMap<string, () => Uint8Array> = new Map([
  ['multiparts nested 20,000 deep', () => nestedMultiparts(20_000)],
  ['enclosed messages nested 2,000 deep', () => nestedMessages(2_000)],
  ['100,000 parts', () => manyParts(100_000)],
  ['20,000 attachments', () => manyAttachments(20_000)],
  ['4 MiB of empty lines', () => lines('', 4 * MIB)],
  ['10 MiB of empty lines', () => lines('', 10 * MIB)],
  ['25 MiB of empty lines', () => lines('', 25 * MIB)],
  ['25 MiB of two-letter lines', () => lines('ab', 25 * MIB)],
  ['25 MiB of two-letter lines in a part', () => linesInPart('ab', 25 * MIB, '7bit')],
  ['25 MiB of two-letter lines of text', () => linesInPart('ab', 25 * MIB, '7bit', 'text/html')],
  ['25 MiB of long lines of text', () => linesInPart('x '.repeat(300), 25 * MIB, '7bit', PLAIN)],
  [
    '4 MB of UTF-7',
    () => linesInPart('+AOk-'.repeat(200), 4e6, '7bit', 'text/plain; charset=utf-7'),
  ],
  ['4 MB of returns', () => linesInPart('x\r'.repeat(300), 4e6, '7bit', PLAIN)],
  ['4 MB of marks to escape', () => linesInPart('&'.repeat(600), 4e6, '7bit', PLAIN, '<p>x</p>')],
  [
    '4 MB of encoded line ends',
    () => linesInPart('Cj4K'.repeat(25), 4e6, 'base64', `${PLAIN}; format=flowed`),
  ],
  ['25 MiB of encoded letters', () => linesInPart('=41'.repeat(200), 25 * MIB, 'quoted-printable')],
  ['25 MiB of two-letter lines called base64', () => linesInPart('ab', 25 * MIB, 'base64')],
  ['25 MiB of dashes called base64', () => linesInPart('--', 25 * MIB, 'base64')],
  ['10 MiB of uuencoded lines', () => linesInPart(`M${'!'.repeat(60)}`, 10 * MIB, 'x-uuencode')],
  ['one line of 25 MiB', () => message(...ENVELOPE_FIELDS, '', 'x'.repeat(25 * MIB))],
  ['100,000 header fields', () => message(...repeat('X-Field: value', 100_000), '', 'text')],
  ['a header field of 10 MiB', () => message(`Subject: ${'x'.repeat(10 * MIB)}`, '', 'text')],
  ['1 MiB of folding', () => message(`Subject: x${'\r\n '.repeat(MIB / 3)}`, '', 'text')],
  ['200 KiB of folding', () => message(`Subject: x${'\r\n '.repeat(65_000)}`, '', 'text')],
  ['50,000 encoded words', () => message(`Subject: ${words(50_000, 20)}`, '', 'text')],
  ['a full header of encoded words', () => message(`Subject: ${words(12_000, 4)}`, '', 'text')],
  ['50,000 parameter continuations', () => continuations(50_000)],
  ['a full header of continuations', () => continuations(15_000)],
  ['100,000 recipients', () => message(`To: ${repeat('a@b.example', 100_000).join(', ')}`, '', '')],
  [
    'a full header of recipients',
    () => message(`To: ${repeat('a@b.cd', 25_000).join(', ')}`, '', ''),
  ],
  ['a full header of open brackets', () => message(`To: ${'<("'.repeat(80_000)}`, '', '')],
  [
    'a full header of references',
    () => message(`References: ${repeat('<a@b>', 40_000).join(' ')}`, '', ''),
  ],
])

function repeat(text: string, count: number): string[] {
  return Array.from({ length: count }, () => text)
}

function nestedMultiparts(depth: number): Uint8Array {
  const parts = Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}`,
  )
  return message(...ENVELOPE_FIELDS, ...parts, '', 'innermost')
}

function nestedMessages(depth: number): Uint8Array {
  return message(
    ...ENVELOPE_FIELDS,
    ...repeat('Content-Type: message/rfc822\r\n', depth),
    'innermost',
  )
}

function manyParts(count: number): Uint8Array {
  return messageOf(
    multipart(
      'mixed',
      'b',
      Array.from({ length: count }, () => ({ fields: [], body: 'x' })),
    ),
  )
}

function manyAttachments(count: number): Uint8Array {
  const part = filePart('a.txt', Buffer.from('x'))
  return messageOf(
    multipart(
      'mixed',
      'b',
      Array.from({ length: count }, () => part),
    ),
  )
}

function lines(line: string, sizeBytes: number): Uint8Array {
  const body = `${line}\r\n`.repeat(Math.floor(sizeBytes / (line.length + 2)))
  return message(...ENVELOPE_FIELDS, 'Content-Type: text/plain', '', body)
}

function linesInPart(
  line: string,
  sizeBytes: number,
  encoding: string,
  type = 'application/pdf',
  html = '',
): Uint8Array {
  const body = `${line}\r\n`.repeat(Math.floor(sizeBytes / (line.length + 2)))
  const fields = [`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`]
  const first = html === '' ? textPart('text') : part(html, 'Content-Type: text/html')
  return messageOf(multipart('mixed', 'boundary', [first, { fields, body }]))
}

function words(count: number, length: number): string {
  return repeat(`=?utf-8?Q?${'=C3'.repeat(length / 4)}${'a'.repeat(length / 4)}?=`, count).join(
    '\r\n ',
  )
}

function continuations(count: number): Uint8Array {
  const sections = Array.from({ length: count }, (_, index) => ` x*${index}*=a%20;`)
  return message(
    ...ENVELOPE_FIELDS,
    `Content-Type: text/plain;\r\n${sections.join('\r\n')}`,
    '',
    'text',
  )
}

/** Processor time of this process so far, in milliseconds, which other load does not change. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
