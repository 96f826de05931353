// The steps of sign-ins in the last week, which show where one ended.

import type { Connection, ConnectionStep } from '@mailroom/sdk'
import { client } from '#data/session.ts'
import { Button } from '#parts/button.tsx'
import { Badge, Empty } from '#parts/notice.tsx'
import { Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { Table } from '#parts/table.tsx'

const STEPS_SHOWN = 25

/** `unused` are the connections that have never called. */
export function SignInSteps({ unused }: { unused: readonly Connection[] }) {
  const load = (bounds: Parameters<typeof client.connections.listSteps>[0]) =>
    client.connections.listSteps(bounds).page()
  const list = usePaged('sign-in steps', load, STEPS_SHOWN)
  return (
    <Section
      title="Sign-ins of the last week"
      actions={
        <Button icon="refresh" onClick={list.reload}>
          Refresh
        </Button>
      }
    >
      <div class="panel">
        <PagedList
          list={list}
          label="steps"
          empty={
            <Empty icon="activity" title="No sign-ins">
              If an assistant says that it cannot connect and nothing appears here, it has not
              reached the service: check the URL, DNS and the certificate.
            </Empty>
          }
        >
          <Table columns={['Step', 'Assistant', 'Result', 'When']}>
            {list.items.map((step, index) => (
              <tr key={step.id}>
                <td class="main-cell">{words[step.step].done}</td>
                <td data-label="Assistant" class="text-cell">
                  {step.clientName ?? step.userAgent ?? 'Unknown'}
                </td>
                <td data-label="Result" class="text-cell">
                  <Result step={step} isLast={isLast(step, list.items.slice(0, index), unused)} />
                </td>
                <td data-label="When" class="nowrap muted">
                  <Time at={step.occurredAt} />
                </td>
              </tr>
            ))}
          </Table>
        </PagedList>
      </div>
    </Section>
  )
}

function Result({ step, isLast }: { step: ConnectionStep; isLast: boolean }) {
  if (!step.isOk) {
    return (
      <>
        <Badge tone="bad">Failed</Badge> {step.detail} {step.error && <code>{step.error}</code>}
      </>
    )
  }
  return (
    <>
      <Badge tone="good">Done</Badge> {isLast && words[step.step].missing}
    </>
  )
}

const order: readonly ConnectionStep['step'][] = [
  'discovery',
  'registration',
  'authorization',
  'token',
  'call',
]

/** Whether no later step followed. Steps that belong to no account do not name the client. */
function isLast(
  { step, clientId, connectionId }: ConnectionStep,
  newer: readonly ConnectionStep[],
  unused: readonly Connection[],
): boolean {
  // Tokens are refreshed every hour, long after the first call.
  if (step === 'token') return unused.some(({ id }) => id === connectionId)
  const place = order.indexOf(step)
  return !newer.some(
    (one) => order.indexOf(one.step) > place && (clientId === null || one.clientId === clientId),
  )
}

/** `missing` explains a sign-in that ended after this step. */
const words: Record<ConnectionStep['step'], { done: string; missing: string | null }> = {
  discovery: {
    done: 'Read the metadata',
    missing:
      'Nothing followed: the assistant may have been given a URL that differs from the public URL.',
  },
  registration: {
    done: 'Registered itself',
    missing: 'Nothing followed: the sign-in page has not been finished.',
  },
  authorization: {
    done: 'A person decided',
    missing: 'Nothing followed: the assistant has not fetched its token.',
  },
  token: {
    done: 'Fetched a token',
    missing: 'Nothing followed: the assistant has not called. Remove it there and add it again.',
  },
  call: { done: 'First call', missing: null },
}
