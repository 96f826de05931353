// A domain: its DNS records, their status, and checks until it is verified.

import type { Domain, DomainRecord } from '@mailroom/sdk'
import { MailroomError } from '@mailroom/sdk'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { describeFailure } from '#data/failure.ts'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { useLive } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { type Resource, useResource } from '#data/use-resource.ts'
import { Button, ButtonLink } from '#parts/button.tsx'
import { ConfirmDialog } from '#parts/dialog.tsx'
import { domainStates, RecordBadge } from '#parts/domain-badge.tsx'
import { CheckField, SelectField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { Badge, Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page, Section } from '#parts/page.tsx'
import { CopyText, Time } from '#parts/small.tsx'

export function DomainPage() {
  const { id = '' } = useRoute().params
  const domain = useResource(`domain ${id}`, (signal) => client.domains.get(id, { signal }))
  useLive((event) => {
    if (event.domain?.id === id) domain.reload()
  })
  const above = (
    <a class="way-back" href={paths.domains}>
      <Icon name="back" size={14} />
      Domains
    </a>
  )
  if (domain.value === undefined) {
    return (
      <Page title="Domain" above={above}>
        {domain.error ? (
          <Trouble error={domain.error} retry={domain.reload} />
        ) : (
          <Skeleton rows={6} label="Loading the domain" />
        )}
      </Page>
    )
  }
  return <DomainView resource={domain} domain={domain.value} above={above} />
}

function DomainView({
  resource,
  domain,
  above,
}: {
  resource: Resource<Domain>
  domain: Domain
  above: ComponentChildren
}) {
  const { route } = useLocation()
  const [isDeleting, setIsDeleting] = useState(false)
  const verifying = useVerifying(domain, (now) => resource.replace(() => now))
  const { tone, word, sentence } = domainStates[domain.status]
  return (
    <Page
      title={domain.domain}
      above={above}
      actions={
        <>
          <ButtonLink
            icon="download"
            href={`/v1/domains/${encodeURIComponent(domain.id)}/zone-file`}
            download={`${domain.domain}.zone`}
          >
            Zone file
          </ButtonLink>
          <Button icon="trash" onClick={() => setIsDeleting(true)}>
            Delete
          </Button>
          {verifying.isOn ? (
            <Button icon="pause" onClick={verifying.stop}>
              Stop checking
            </Button>
          ) : (
            <Button kind="primary" icon="refresh" onClick={verifying.start}>
              Check DNS now
            </Button>
          )}
        </>
      }
    >
      <div class="stack">
        <Notice
          tone={tone}
          title={
            <span data-domain-status={domain.status}>
              {word}
              {domain.verifiedAt !== null && domain.status === 'verified' && (
                <>
                  , <Time at={domain.verifiedAt} />
                </>
              )}
            </span>
          }
        >
          {sentence}
        </Notice>
        <Verifying {...verifying} />
      </div>
      <Section title="Records to publish">
        <Checklist domain={domain} />
      </Section>
      <Section title="Addresses without an inbox">
        <DomainOptions domain={domain} show={(now) => resource.replace(() => now)} />
      </Section>
      {isDeleting && (
        <ConfirmDialog
          title="Delete this domain?"
          action="Delete domain"
          typed={domain.domain}
          onClose={() => setIsDeleting(false)}
          submit={async () => {
            await client.domains.delete(domain.id)
            toast(`${domain.domain} deleted`)
            route(paths.domains)
          }}
        >
          <p>
            <strong>{domain.domain}</strong> will be deleted with its DKIM keys, and mail to it will
            be refused. Delete its inboxes first.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

/** Saves each choice at once. */
function DomainOptions({ domain, show }: { domain: Domain; show: (now: Domain) => void }) {
  const { id, catchAllInboxId, podId, subdomainsEnabled } = domain
  const [problem, setProblem] = useState<string | null>(null)
  const inboxes = useResource(`catch-all ${id} ${catchAllInboxId}`, (signal) =>
    readInboxChoices([catchAllInboxId ?? ''], signal),
  )
  const usable = inboxes.value?.filter((inbox) => podId === null || inbox.podId === podId)
  const save = async (change: Parameters<typeof client.domains.update>[1], text: string) => {
    setProblem(null)
    try {
      show(await client.domains.update(id, change))
      toast(text)
    } catch (error) {
      setProblem(describeFailure(error).message)
      inboxes.reload()
    }
  }
  return (
    <div class="stack">
      <CheckField
        label="Receive mail for subdomains"
        name="subdomainsEnabled"
        hint={`Mail to name@any.${domain.domain} reaches the inbox name@${domain.domain}. This requires a wildcard MX record.`}
        isChecked={subdomainsEnabled}
        onChecked={(isChecked) =>
          void save(
            { subdomainsEnabled: isChecked },
            isChecked ? 'Subdomains receive mail' : 'Only the domain itself receives mail',
          )
        }
      />
      <SelectField
        label="Catch-all inbox"
        name="catchAllInboxId"
        hint="Receives mail for unknown addresses of the domain."
        value={catchAllInboxId ?? ''}
        error={problem ?? undefined}
        options={[{ value: '', text: 'None: refuse such mail' }, ...inboxOptions(usable)]}
        onValue={(inboxId) =>
          void save(
            { catchAllInboxId: inboxId === '' ? null : inboxId },
            inboxId === '' ? 'Catch-all removed' : 'Catch-all inbox saved',
          )
        }
      />
    </div>
  )
}

function Verifying({ isOn, rounds, part, problem }: ReturnType<typeof useVerifying>) {
  const [, setNow] = useState(0)
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => setNow((before) => before + 1), 1_000)
    return () => clearInterval(timer)
  }, [isOn])
  return (
    <div class="verifying" role="status">
      {isOn && (
        <label>
          <span class="hint">
            Checking until the state changes (check {rounds}). You can leave this page: the service
            keeps checking in the background.
          </span>
          <progress max={1} value={part()} />
        </label>
      )}
      {problem !== null && <Notice tone="warn" title={problem} />}
    </div>
  )
}

const purposes: Record<DomainRecord['purpose'], { title: string; words: string }> = {
  ownership: { title: 'Ownership', words: 'Proves that the domain is yours.' },
  mx: { title: 'Receiving', words: 'Routes mail for the domain to this service.' },
  subdomains: {
    title: 'Receiving for subdomains',
    words: 'Routes mail for all subdomains to this service.',
  },
  spf: { title: 'SPF', words: 'Authorises this service to send for the domain.' },
  dkim: { title: 'DKIM', words: 'Lets receivers verify the signatures of your mail.' },
  dmarc: { title: 'DMARC', words: 'Publishes how receivers should treat mail that fails both.' },
}

function Checklist({ domain: { records, lastCheckedAt } }: { domain: Domain }) {
  const required = records.filter((record) => record.required)
  const found = required.filter(({ status }) => status === 'valid').length
  return (
    <>
      <p class="muted">
        {found} of {required.length} required records found.{' '}
        {lastCheckedAt === null ? (
          'Not checked yet.'
        ) : (
          <>
            Checked <Time at={lastCheckedAt} />.
          </>
        )}
      </p>
      <ol class="panel records below">
        {records.map((record) => (
          <Record
            key={`${record.purpose} ${record.name} ${record.value}`}
            record={record}
            isChecked={lastCheckedAt !== null}
          />
        ))}
      </ol>
    </>
  )
}

function Record({ record, isChecked }: { record: DomainRecord; isChecked: boolean }) {
  const { purpose, type, name, value, priority, required, status, found, hint } = record
  const { title, words } = purposes[purpose]
  return (
    <li class="record">
      <span class={`record-mark ${status}`}>
        <Icon name={status === 'valid' ? 'check' : 'clock'} size={16} />
      </span>
      <div class="record-body">
        <p class="record-head">
          <strong>{title}</strong> <RecordBadge status={status} isChecked={isChecked} />{' '}
          {!required && <Badge>Recommended</Badge>}
        </p>
        <p class="muted">{words}</p>
        <dl class="record-fields">
          <dt>Type</dt>
          <dd>
            <code>{type}</code>
            {priority !== undefined && ` with priority ${priority}`}
          </dd>
          <dt>Name</dt>
          <dd>
            <CopyText text={name} label={`name of the ${purpose} record`} />
          </dd>
          <dt>Value</dt>
          <dd class="record-value">
            <CopyText text={value} label={`value of the ${purpose} record`} />
          </dd>
          {status !== 'valid' && found.length > 0 && (
            <>
              <dt>In DNS now</dt>
              <dd>
                <code>{found.join(' · ')}</code>
              </dd>
            </>
          )}
        </dl>
        {hint !== null && <p class="hint">{hint}</p>}
      </div>
    </li>
  )
}

/** The first checks come quickly, because DNS often has most records already. */
const WAITS_MS = [3_000, 5_000, 8_000, 12_000, 20_000]
const ROUNDS_MAX = 60

type Verifying = {
  isOn: boolean
  rounds: number
  /** Elapsed fraction of the time until the next check, 0 to 1. */
  part: () => number
  problem: string | null
  start: () => void
  stop: () => void
}

function useVerifying(domain: Domain, show: (domain: Domain) => void): Verifying {
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
