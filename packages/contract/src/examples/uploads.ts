// Examples of requests: uploads.

import type { Upload } from '#uploads.ts'
import type { SomeExamples } from './example.ts'

const file = {
  name: 'invoice-1042.csv',
  mediaType: 'text/csv',
  text: 'item,amount\nhosting,120\n',
}

const upload: Upload = {
  id: 'upl_01m8ngm2q3e00b7v2m1q8zj5tk',
  filename: 'invoice-1042.csv',
  contentType: 'text/csv',
  sizeBytes: 24,
  sha256: '…',
  expiresAt: '2026-12-01T06:00:08.611Z',
}
const linked = { ...upload, id: 'upl_01m8ngm2q3e00kd0s5rgw8p3xa' }
const posted = { ...upload, id: 'upl_01m8ngm2q3e0048n0r1bv7q6zc' }
const signature = (text: string) => ({ expires: `until-${text}`, signature: `signed-${text}` })

export const uploadExamples = {
  'uploads.create': { query: { filename: 'invoice-1042.csv' }, file, response: upload },
  'uploads.createLink': {
    body: { filename: 'invoice-1042.csv', maxBytes: 1_000_000 },
    response: {
      id: linked.id,
      url: `https://mail.example.com/v1/uploads/${linked.id}/file?expires=…&signature=…`,
      expiresAt: '2026-11-30T06:15:08.702Z',
    },
  },
  'uploads.fill': {
    path: { id: linked.id },
    query: signature('1'),
    file,
    response: linked,
  },
  'uploads.fillByPost': {
    path: { id: posted.id },
    query: signature('2'),
    file,
    response: posted,
  },
  'uploads.get': { path: { id: upload.id }, response: upload },
  'uploads.delete': { path: { id: upload.id } },
} satisfies SomeExamples
