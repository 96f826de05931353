// Files that are sent to the service before the message that they are attached to.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { FILENAME_LENGTH_MAX, MEDIA_TYPE_LENGTH_MAX } from './sending.ts'
import { count, line, text, time } from './text.ts'

export const UPLOAD_BYTES_MAX = 25 * 1024 * 1024
/** Uploads of an account that have not expired, and links that wait for a file. */
export const UPLOADS_MAX = 1_000

export const Upload = Type.Object(
  {
    id: text('The id, for the uploadId of an attachment.'),
    filename: text('The file name that recipients see.'),
    contentType: text('The media type that was declared; the service does not check it.'),
    sizeBytes: count('Size of the file in bytes.'),
    sha256: text('SHA-256 of the file, in hexadecimal.'),
    expiresAt: time('When the file is removed: 24 hours after it arrived.'),
  },
  { description: 'A file to attach to messages.' },
)
export type Upload = Static<typeof Upload>

export const UploadLink = Type.Object(
  {
    id: text('The id of the upload, once the file has arrived.'),
    url: text('Signed URL that takes the file once, without a key: curl -T report.pdf "$url".'),
    expiresAt: time('When the URL stops working: after 15 minutes.'),
  },
  { description: 'A URL to which one file can be uploaded without a key.' },
)
export type UploadLink = Static<typeof UploadLink>

const filename = Type.String({
  minLength: 1,
  maxLength: FILENAME_LENGTH_MAX,
  description:
    'The file name. Only the part after the last slash is used, without control characters, up to 200 characters.',
})

const CreateLink = Type.Object(
  {
    filename,
    contentType: Type.Optional(
      line({
        minLength: 1,
        maxLength: MEDIA_TYPE_LENGTH_MAX,
        description:
          'The media type, such as application/pdf. By default it follows from the name of the file.',
      }),
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: UPLOAD_BYTES_MAX,
        default: UPLOAD_BYTES_MAX,
        description: 'Maximum size of the file in bytes.',
      }),
    ),
  },
  { additionalProperties: false, description: 'The file that the URL will take.' },
)

const ofUpload = { id: 'The id of an upload.' } as const
const upload = {
  mediaTypes: ['application/octet-stream', 'multipart/form-data'],
} as const

const signed = Type.Object({
  expires: Type.Optional(Type.String({ description: 'Part of a signed URL.' })),
  signature: Type.Optional(Type.String({ description: 'Part of a signed URL.' })),
})

const fill = {
  path: '/v1/uploads/{id}/file',
  tag: 'Uploads',
  auth: 'signature',
  isRateLimited: false,
  isForOtherClients: true,
  parameters: ofUpload,
  query: signed,
  upload,
  success: { status: 201, description: 'The upload.', schema: Upload },
  errors: ['bad_request', 'invalid_signature', 'upload_link_used', 'upload_limit_reached'],
} as const

export const uploadOperations = {
  'uploads.create': {
    method: 'POST',
    path: '/v1/uploads',
    tag: 'Uploads',
    summary: 'Upload a file to attach to messages.',
    notes:
      'The body is the file itself, with its media type as Content-Type, or a form with one file in the field "file". A message or draft can attach the upload by its id, any number of times, until it expires after 24 hours; messages and drafts keep their own copy. A file may have up to 25 MiB. An account may have 1,000 uploads with 1 GiB in total, unless the operator has set another limit; at the limit, delete some or wait until they expire.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      filename: Type.Optional(filename),
    }),
    upload,
    success: { status: 201, description: 'The upload.', schema: Upload },
    errors: ['bad_request', 'upload_limit_reached', 'storage_quota_reached'],
  },
  'uploads.createLink': {
    method: 'POST',
    path: '/v1/uploads/links',
    tag: 'Uploads',
    summary: 'Create a URL that takes a file without a key.',
    notes:
      'For a program or a person that makes the file but must not have the key. The URL takes one file with PUT or POST, as the body itself or as a form with one file, within 15 minutes. An interrupted upload does not use up the URL. The URL stops working when the key that created it is revoked or the upload is deleted.',
    auth: 'key',
    isRateLimited: true,
    body: CreateLink,
    success: { status: 201, description: 'The URL.', schema: UploadLink },
    errors: ['upload_limit_reached', 'storage_quota_reached'],
  },
  'uploads.get': {
    method: 'GET',
    path: '/v1/uploads/{id}',
    tag: 'Uploads',
    summary: 'Get an upload.',
    notes:
      'The file itself cannot be downloaded. The upload of a link does not exist until its file has arrived.',
    auth: 'key',
    isRateLimited: true,
    parameters: ofUpload,
    success: { status: 200, description: 'The upload.', schema: Upload },
    errors: [],
  },
  'uploads.delete': {
    method: 'DELETE',
    path: '/v1/uploads/{id}',
    tag: 'Uploads',
    summary: 'Delete an upload.',
    notes:
      'Messages and drafts that have the file keep their copy. If the link of an upload is unused, deleting the upload ends the link.',
    auth: 'key',
    isRateLimited: true,
    parameters: ofUpload,
    success: { status: 204, description: 'The upload is deleted.' },
    errors: [],
  },
  'uploads.fill': {
    ...fill,
    method: 'PUT',
    summary: 'Upload the file of a link.',
    notes:
      'The complete URL is the url of the link. A second file is refused with upload_link_used.',
  },
  'uploads.fillByPost': {
    ...fill,
    method: 'POST',
    summary: 'Upload the file of a link with POST.',
    notes: 'Equivalent to PUT on the same URL, for clients and forms that send POST.',
  },
} as const satisfies Record<string, Operation>
