// Examples of requests: service.

import type { SomeExamples } from './example.ts'

export const serviceExamples = {
  'service.health': { response: { status: 'ok' } },
  'service.ready': { response: { status: 'ready' } },
  'service.openapi': { response: '{"openapi":"3.1.0"…' },
  'service.docs': { response: '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8…' },
  'service.llms': { response: '# Mailroom\n…' },
  'service.llmsFull': { response: '# Mailroom API 1.0.0: full reference\n…' },
  'service.metrics': { response: '# HELP mailroom_http_requests_total HTTP requests answered.\n…' },
} satisfies SomeExamples
