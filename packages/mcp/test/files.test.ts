import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { onEachTransport } from './mcp-world.ts'

const LIMIT = { timeout: 60_000 }
const PDF_BYTES = 6 * 1024 * 1024
/** Far less than a file of a few kilobytes in base64. */
const TALK_CHARS_MAX = 4_000

onEachTransport('files', (open, connect) => {
  const world = opened(() => open())
  const inbox = prepared(() => world.inbox('agent'))
  const tools = opened(() => connect(world))

  test('a file that was not uploaded yet is named as the model named it', LIMIT, async () => {
    const told = await tools.call('upload_link', { filename: 'late.pdf' })
    const [, uploadId = ''] = /files: \["(upl_\w+)"\]/.exec(told) ?? []
    const mail = { to: 'bob@firm.example', subject: 'Report', body: 'See the file.' }
    const refused = await tools.refusal('send_mail', {
      inbox: inbox.id,
      ...mail,
      files: [uploadId],
    })
    assert.match(refused, /^An entry of files is not an upload/)
    assert.match(refused, /Upload the file to a URL of upload_link first/)
    assert.doesNotMatch(refused, /attachments|POST/)
  })

  test('an agent mails a PDF of 6 MB from its shell without reading it', LIMIT, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'files-'))
    try {
      const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(PDF_BYTES)])
      const path = join(folder, 'report.pdf')
      await writeFile(path, pdf)
      const talk: string[] = []
      const call = async (name: string, given: Record<string, unknown>) => {
        const told = await tools.call(name, given)
        talk.push(JSON.stringify(given), told)
        return told
      }
      const told = await call('upload_link', { filename: 'report.pdf' })
      const [, command = ''] = /^(curl .*)$/m.exec(told) ?? []
      const [, uploadId = ''] = /files: \["(upl_\w+)"\]/.exec(told) ?? []
      const line = command.replace('FILE', `'${path}'`)
      await promisify(execFile)('sh', ['-c', line])
      const mail = { to: 'bob@firm.example', subject: 'Report', body: 'See the file.' }
      await call('send_mail', { inbox: inbox.id, ...mail, files: [uploadId] })
      const chars = talk.join('').length
      assert.ok(chars < TALK_CHARS_MAX, `${chars} characters`)
      const [sent] = (await world.client.messages.list(inbox.id).page()).data
      assert.equal(sent?.attachments[0]?.contentType, 'application/pdf')
      const { content } = await world.client.attachments.get(sent?.id ?? '', 'report.pdf')
      assert.ok(Buffer.from(content).equals(pdf))
      await call('save_draft', {
        inbox: inbox.id,
        ...mail,
        files: [uploadId, `${sent?.id}/report.pdf`],
      })
      const [draft] = (await world.client.drafts.list(inbox.id).page()).data
      assert.deepEqual(
        draft?.attachments.map(({ filename, size }) => [filename, size]),
        [
          ['report.pdf', pdf.length],
          ['report.pdf', pdf.length],
        ],
      )
      const other = { inbox: inbox.id, ...mail, files: ['report.pdf'] }
      assert.match(await tools.refusal('send_mail', other), /is not a file/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
