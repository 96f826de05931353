// Operations that tell about the service itself.

import { Type } from '#schema.ts'
import type { Operation } from './operation.ts'

export const serviceOperations = {
  'service.health': {
    method: 'GET',
    path: '/health',
    tag: 'Service',
    summary: 'Tell whether the process is alive.',
    auth: 'none',
    isRateLimited: false,
    success: {
      status: 200,
      description: 'It is.',
      schema: Type.Object({ status: Type.Literal('ok') }),
    },
    errors: ['header_fields_too_large'],
  },
  'service.ready': {
    method: 'GET',
    path: '/ready',
    tag: 'Service',
    summary: 'Tell whether the service can take requests and mail.',
    notes: 'Answers 503 while the database or the SMTP listener is not ready.',
    auth: 'none',
    isRateLimited: false,
    success: {
      status: 200,
      description: 'It can.',
      schema: Type.Object({ status: Type.Literal('ready') }),
    },
    errors: ['header_fields_too_large'],
  },
  'service.openapi': {
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Download this description of the API in the OpenAPI format.',
    auth: 'none',
    isRateLimited: false,
    success: {
      status: 200,
      description: 'An OpenAPI 3.1 document.',
      mediaType: 'application/json',
    },
    errors: ['header_fields_too_large'],
  },
  'service.docs': {
    method: 'GET',
    path: '/docs',
    tag: 'Service',
    summary: 'Read this description of the API as a page.',
    auth: 'none',
    isRateLimited: false,
    success: { status: 200, description: 'One page of HTML.', mediaType: 'text/html' },
    errors: ['header_fields_too_large'],
  },
  'service.llms': {
    method: 'GET',
    path: '/llms.txt',
    tag: 'Service',
    summary: 'Read this description of the API as a page for language models.',
    auth: 'none',
    isRateLimited: false,
    success: { status: 200, description: 'One page of Markdown.', mediaType: 'text/plain' },
    errors: ['header_fields_too_large'],
  },
  'service.metrics': {
    method: 'GET',
    path: '/metrics',
    tag: 'Service',
    summary: 'Read the figures of the running service in the Prometheus text format.',
    auth: 'operator',
    isRateLimited: false,
    success: { status: 200, description: 'The figures.', mediaType: 'text/plain' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
