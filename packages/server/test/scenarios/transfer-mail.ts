// Files of mail for tests of exports and imports.

import type { Export, Import, Mailroom } from '@mailroom/sdk'

export async function exported(
  client: Mailroom,
  asked: Parameters<Mailroom['exports']['create']>[0],
): Promise<Export> {
  const { id } = await client.exports.create(asked)
  return client.exports.untilDone(id)
}

export async function imported(
  client: Mailroom,
  inboxId: string,
  file: Blob | Uint8Array<ArrayBuffer> | string,
  options: Parameters<Mailroom['imports']['create']>[2] = {},
): Promise<Import> {
  const { id } = await client.imports.create(inboxId, file, options)
  return client.imports.untilDone(id)
}

/** What became of the messages, and why some failed. */
export function countsOf({ status, imported, duplicates, failures, error }: Import) {
  return { status, imported, duplicates, failures: failures.map(({ reason }) => reason), error }
}

export function mailFrom(from: string, id: string, more = ''): string {
  return `From: ${from}\nTo: us@ours.example\nSubject: ${id}\nMessage-ID: <${id}@x.example>\nDate: Tue, 3 Feb 2015 04:05:06 +0000\n${more}\nText of ${id}\n`
}

export function mboxOf(...mails: string[]): string {
  return mails.map((mail) => `From ann@a.example Tue Feb  3 04:05:06 2015\n${mail}\n`).join('')
}

const BLOCK = 512

/** An archive of entries that a library may refuse to write. */
export function tarOf(
  entries: readonly { name: string; type?: string; content?: string; linkname?: string }[],
  { ends = true } = {},
): Uint8Array<ArrayBuffer> {
  const blocks = entries.map(({ name, type = '0', content = '', linkname = '' }) => {
    const header = Buffer.alloc(BLOCK)
    header.write(name, 0, 100)
    header.write('0000600\0', 100)
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('00000000000\0', 136)
    header.write('        ', 148)
    header.write(type, 156)
    header.write(linkname, 157)
    header.write('ustar\0', 257)
    header.write('00', 263)
    const sum = header.reduce((total, octet) => total + octet, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const body = Buffer.alloc(Math.ceil(content.length / BLOCK) * BLOCK)
    body.write(content)
    return Buffer.concat([header, body])
  })
  return new Uint8Array(Buffer.concat([...blocks, ...(ends ? [Buffer.alloc(2 * BLOCK)] : [])]))
}
