// Checks a domain again and again until its state changes, or long enough; its records are shown as
// they come right.

import { type Domain, MailroomError } from '@mailroom/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { describeFailure } from '#data/failure.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'

/** The first looks come soon after one another: mostly the records are there by then. */
const WAITS_MS = [3_000, 5_000, 8_000, 12_000, 20_000]
const ROUNDS_MAX = 60

export type Verifying = {
  isOn: boolean
  rounds: number
  /** Of the time until the next look, 0 to 1. */
  part: () => number
  problem: string | null
  start: () => void
  stop: () => void
}

export function useVerifying(domain: Domain, show: (domain: Domain) => void): Verifying {
  const [isOn, setIsOn] = useState(false)
  const [rounds, setRounds] = useState(0)
  const [problem, setProblem] = useState<string | null>(null)
  const wait = useRef({ fromMs: 0, lengthMs: 1 })
  const latest = useRef({ domain, show })
  latest.current = { domain, show }

  useEffect(() => {
    if (!isOn) return
    const leaving = new AbortController()
    let timer = 0
    const { status: first } = latest.current.domain
    const look = async (round: number) => {
      setRounds(round)
      try {
        const { id } = latest.current.domain
        const now = await client.domains.verify(id, { signal: leaving.signal })
        if (leaving.signal.aborted) return
        setProblem(null)
        latest.current.show(now)
        if (now.status !== first || isDone(now) || round >= ROUNDS_MAX) {
          setIsOn(false)
          toast(outcomeOf(now))
          return
        }
      } catch (error) {
        if (leaving.signal.aborted) return
        setProblem(describeFailure(error).message)
        const isOver = error instanceof MailroomError && error.status < 500 && error.status !== 429
        if (isOver || round >= ROUNDS_MAX) return setIsOn(false)
      }
      const lengthMs = WAITS_MS[Math.min(round - 1, WAITS_MS.length - 1)] ?? 20_000
      wait.current = { fromMs: performance.now(), lengthMs }
      timer = window.setTimeout(() => void look(round + 1), lengthMs)
    }
    void look(1)
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [isOn])

  return {
    isOn,
    rounds,
    problem,
    part: () => Math.min(1, (performance.now() - wait.current.fromMs) / wait.current.lengthMs),
    start: () => setIsOn(true),
    stop: () => setIsOn(false),
  }
}

function isDone({ status, records }: Domain): boolean {
  return status === 'verified' && records.every((record) => record.status === 'valid')
}

function outcomeOf({ status, records }: Domain): string {
  if (status === 'verified') return 'Domain verified'
  const missing = records.filter((record) => record.required && record.status !== 'valid').length
  return missing === 0
    ? 'All required records are valid'
    : `${missing} required ${missing === 1 ? 'record is' : 'records are'} not valid yet`
}
