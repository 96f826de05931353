// Operations on the service itself. Metrics are for the operator and answer 404 if no operator
// token is set.

import type { Operation } from './operation.ts'
import { Type } from './schema.ts'

export const serviceOperations = {
  'service.health': {
    method: 'GET',
    path: '/health',
    tag: 'Service',
    summary: 'Check that the process is alive.',
    auth: 'none',
    isRateLimited: false,
    success: {
      status: 200,
      description: 'The process is alive.',
      schema: Type.Object({ status: Type.Literal('ok') }),
    },
    errors: ['header_fields_too_large'],
  },
  'service.ready': {
    method: 'GET',
    path: '/ready',
    tag: 'Service',
    summary: 'Check that the service is ready.',
    notes: 'Responds with 503 while the database or the SMTP listener is not ready.',
    auth: 'none',
    isRateLimited: false,
    success: {
      status: 200,
      description: 'The service is ready.',
      schema: Type.Object({ status: Type.Literal('ready') }),
    },
    errors: ['header_fields_too_large'],
  },
  'service.openapi': {
    method: 'GET',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Get the OpenAPI document.',
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
    summary: 'Get the first page of the documentation.',
    auth: 'none',
    isRateLimited: false,
    success: { status: 200, description: 'One page of HTML.', mediaType: 'text/html' },
    errors: ['header_fields_too_large'],
  },
  'service.llms': {
    method: 'GET',
    path: '/llms.txt',
    tag: 'Service',
    summary: 'Get the overview for language models.',
    notes:
      'It links the reference in parts, `/llms/{topic}.md`, and the guides, `/docs/{guide}.md`.',
    auth: 'none',
    isRateLimited: false,
    success: { status: 200, description: 'One page of Markdown.', mediaType: 'text/plain' },
    errors: ['header_fields_too_large'],
  },
  'service.llmsFull': {
    method: 'GET',
    path: '/llms-full.txt',
    tag: 'Service',
    summary: 'Get the full reference for language models.',
    notes: 'Every operation with its fields, in a fraction of the size of the OpenAPI document.',
    auth: 'none',
    isRateLimited: false,
    success: { status: 200, description: 'One page of Markdown.', mediaType: 'text/plain' },
    errors: ['header_fields_too_large'],
  },
  'service.metrics': {
    method: 'GET',
    path: '/metrics',
    tag: 'Service',
    summary: 'Get metrics in the Prometheus format.',
    auth: 'operator',
    isRateLimited: false,
    success: { status: 200, description: 'The metrics.', mediaType: 'text/plain' },
    errors: [],
  },
} as const satisfies Record<string, Operation>
