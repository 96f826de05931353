// The tool with which a program or a person uploads a file, so that the model need not read it.

import { z } from 'zod'
import { defineTool, lines } from './tool.ts'

export const uploadLink = defineTool({
  name: 'upload_link',
  scope: 'mail:draft',
  otherScopes: ['mail:send'],
  title: 'Get a link for a file',
  description:
    'Get a URL that takes one file, so that its content stays out of the conversation: upload it with curl in a shell, then name the upload in files of send_mail, reply, forward or save_draft.',
  input: {
    filename: z.string().min(1).max(255).describe('The file name that recipients see.'),
  },
  isReading: false,
  isOpenWorld: false,
  async run({ filename }, { access, signal }) {
    const link = await access.client.uploads.createLink({ filename }, { signal })
    return lines(
      `Upload the file once until ${link.expiresAt}, without a key; FILE is its path:`,
      `curl -sS --fail-with-body -T FILE '${link.url}'`,
      `Then attach it with files: ["${link.id}"], for 24 hours.`,
    )
  },
})
