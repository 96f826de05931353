// Custom domains, and a form that adds one.

import type { Domain } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { podName } from '#data/format.ts'
import { useLive } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { DomainBadge } from '#parts/domain-badge.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { Table } from '#parts/table.tsx'

export function DomainsPage() {
  const [isAdding, setIsAdding] = useState(false)
  const domains = usePaged('domains', (bounds) => client.domains.list(bounds).page())
  useLive(({ domain }) => {
    if (domain !== undefined) domains.reload()
  })
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setIsAdding(true)}>
      Add domain
    </Button>
  )
  return (
    <Page
      title="Domains"
      intro="Your own domains for inbox addresses. Each needs a few DNS records."
      actions={add}
    >
      <div class="panel">
        <PagedList
          list={domains}
          label="domains"
          empty={
            <Empty icon="globe" title="No domains yet" actions={add}>
              Until you add a domain, inboxes use the domain of this service.
            </Empty>
          }
        >
          <DomainTable domains={domains.items} />
        </PagedList>
      </div>
      {isAdding && <AddDomain onClose={() => setIsAdding(false)} />}
    </Page>
  )
}

function DomainTable({ domains }: { domains: readonly Domain[] }) {
  return (
    <Table columns={['Domain', 'State', 'Records', 'Last check']}>
      {domains.map(({ id, domain, status, records, lastCheckedAt }) => {
        const required = records.filter((record) => record.required)
        const right = required.filter((record) => record.status === 'valid')
        return (
          <tr key={id}>
            <td class="main-cell">
              <a href={paths.domain(id)}>{domain}</a>
            </td>
            <td>
              <DomainBadge status={status} />
            </td>
            <td class="muted nowrap">
              {right.length} of {required.length} required records found
            </td>
            <td data-label="Last check" class="muted nowrap">
              {lastCheckedAt === null ? 'Never' : <Time at={lastCheckedAt} />}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

function AddDomain({ onClose }: { onClose: () => void }) {
  const { route } = useLocation()
  const [domain, setDomain] = useState('')
  const [podId, setPodId] = useState('')
  const pods = useResource('pods', (signal) => client.pods.list({ limit: 100, signal }).page())
  const podList = pods.value?.data ?? []
  return (
    <FormDialog
      title="Add a domain"
      action="Add domain"
      onClose={onClose}
      submit={async () => {
        const made = await client.domains.create({
          domain: domain.trim(),
          ...(podId !== '' && { podId }),
        })
        toast(`${made.domain} added`)
        onClose()
        route(paths.domain(made.id))
      }}
    >
      {(fields) => (
        <>
          <TextField
            label="Domain"
            name="domain"
            value={domain}
            onValue={setDomain}
            error={fields.domain}
            placeholder="mail.example.com"
            hint="A domain whose DNS you can edit. Use a subdomain to leave the mail of your main domain unchanged."
            required
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
          {podList.length > 1 && (
            <SelectField
              label="Pod"
              name="podId"
              value={podId}
              onValue={setPodId}
              options={[
                { value: '', text: 'All pods' },
                ...podList.map((pod) => ({ value: pod.id, text: podName(pod) })),
              ]}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
