// Messages as people read them: the header that matters, who the sender is known to be, the text, and
// the files that came along.

import type { Output } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { cellOf, type Fields, listOf, recordOf } from './cells.ts'

export function showMessage(output: Output, message: Fields): void {
  const { dim } = output.colors
  const line = (name: string, value: unknown) => {
    const text = plainLine(cellOf(output, value))
    if (text !== '' && value !== null) output.write(`${dim(`${name}:`)} ${text}\n`)
  }
  const { attachments, direction, subject, bodyText } = message
  line('Id', message.id)
  line('Thread', message.threadId)
  line('From', `${message.fromAddr ?? ''}${senderTruth(message)}`)
  line('To', message.headerTo ?? message.toAddr)
  if (Array.isArray(message.cc) && message.cc.length > 0) line('Cc', message.cc)
  line('Date', message.createdAt)
  line('Subject', subject)
  if (direction === 'outbound') line('Status', message.status)
  line('Failure', message.failureReason)
  if (message.automatic === true) line('Automatic', message.automaticReason ?? 'yes')
  for (const { filename, contentType, sizeBytes } of listOf(attachments)) {
    line('Attachment', `${filename} (${contentType}, ${sizeBytes} bytes)`)
  }
  for (const { value, confidence } of listOf(recordOf(message.extracted).codes)) {
    line('Code', `${value} (confidence ${confidence})`)
  }
  const text = plainBlock(String(bodyText ?? '')).trimEnd()
  output.write(`\n${text}${text === '' ? '' : '\n'}`)
  if (message.isTruncated === true) {
    output.write(dim(`(Cut here. The whole message: mailroom messages get ${message.id})\n`))
  }
}

/** The messages of a thread, oldest first. */
export function showMessages(output: Output, thread: Fields): void {
  for (const [index, message] of listOf(thread.data).entries()) {
    if (index > 0)
      output.write(`\n${output.colors.dim('—'.repeat(Math.min(output.width, 72)))}\n\n`)
    showMessage(output, message)
  }
}

function senderTruth({ direction, authentication }: Fields): string {
  if (direction !== 'inbound') return ''
  return recordOf(authentication).verifiedFrom === true ? ' (verified)' : ' (not verified)'
}
