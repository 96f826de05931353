// The project's own set of messages with and without verification codes, in files of a format to be
// read by people: `@ name`, `codes:` (separated by ` | `, none for none), `subject:`, then `text:` or
// `html:` alone on a line and the body. Every third message of a file is held out: rules are not made
// to fit it.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textFromHtml } from '@mailroom/mail/html/text.ts'

export type WrittenMessage = {
  readonly name: string
  readonly isHeldOut: boolean
  readonly codes: readonly string[]
  readonly subject: string
  /** The body as the service has it: made from the HTML if there is no text. */
  readonly text: string
  readonly html: string
}

export const WRITTEN_FOLDER: string = join(import.meta.dirname, 'messages')

/** The messages in the order of files and places. */
export function writtenMessages(folder: string = WRITTEN_FOLDER): WrittenMessage[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.txt'))
  return files.sort().flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split(/^@ /m)
      .slice(1)
      .map((block, index) => readMessage(block, index % 3 === 2)),
  )
}

function readMessage(block: string, isHeldOut: boolean): WrittenMessage {
  const [name = '', ...lines] = block.trimEnd().split('\n')
  const bodies = { text: [] as string[], html: [] as string[] }
  const fields = new Map<string, string>()
  let open: 'text' | 'html' | null = null
  for (const line of lines) {
    if (line === 'text:' || line === 'html:') open = line === 'text:' ? 'text' : 'html'
    else if (open !== null) bodies[open].push(line)
    else fields.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())
  }
  const codes = fields.get('codes')
  const subject = fields.get('subject')
  if (codes === undefined || subject === undefined) throw new Error(`${name} lacks a field`)
  const html = bodies.html.join('\n')
  const text = bodies.text.join('\n')
  return {
    name,
    isHeldOut,
    codes: codes === '' ? [] : codes.split(' | '),
    subject,
    text: text === '' && html !== '' ? textFromHtml(html) : text,
    html,
  }
}
