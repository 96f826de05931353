// The common part of the receiving benchmarks: the generator, its plan and report, its recipient,
// and the DNS records of its sender.

import { runToEnd } from './child.ts'

export type Outcome = {
  messages: number
  perSecond: number
  failures: number
  p50Ms: number
  p99Ms: number
}

export const MODES = ['one-message', 'kept'] as const
export type Mode = (typeof MODES)[number]
export const MODE_NAMES = { 'one-message': 'one message a connection', kept: 'kept connections' }

export const RECIPIENT = 'bench@mailroom.localhost'

/** Records with which the generator's mail passes SPF and DMARC. */
export const SENDER_RECORDS = {
  'sender.example': 'v=spf1 ip4:127.0.0.1 -all',
  '_dmarc.sender.example': 'v=DMARC1; p=reject',
}

export type LoadPlan = {
  port: number
  sessions: number
  seconds: number
  mode: Mode
  messageBytes: number
  recipient: string
  /** Text before every message: a signature field, or an empty string. */
  signature?: string
  /** Messages per second over all sessions; unlimited by default. */
  rate?: number
}

/** Sends according to the plan from another process, and reports the acknowledged messages. */
export function load(plan: LoadPlan): Promise<Outcome> {
  return runToEnd<Outcome>('load-generator.ts', plan)
}
