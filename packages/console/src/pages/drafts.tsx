// The drafts of an inbox.

import type { Draft } from '@mailroom/sdk'
import { useLocation } from 'preact-iso/router'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { currentInboxId } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { ActionButton } from '#parts/button.tsx'
import { SelectField } from '#parts/field.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { Table } from '#parts/table.tsx'
import { DraftDialog } from './draft.tsx'

export function DraftsPage() {
  const { query, route } = useLocation()
  const wanted = query.inbox ?? currentInboxId.value ?? ''
  const inboxes = useResource(`drafts inboxes ${wanted}`, (signal) =>
    readInboxChoices([wanted], signal),
  )
  const inboxId = wanted === '' ? (inboxes.value?.[0]?.id ?? '') : wanted
  const list = usePaged(inboxId === '' ? null : `drafts ${inboxId}`, (bounds) =>
    client.drafts.list(inboxId, bounds).page(),
  )
  const create = (
    <ActionButton
      kind="primary"
      icon="plus"
      isDisabled={inboxId === ''}
      action={async () => route(paths.draft(inboxId, (await client.drafts.create(inboxId)).id))}
    >
      New draft
    </ActionButton>
  )
  return (
    <Page
      title="Drafts"
      intro="Messages that are not sent yet, written here or by agents."
      actions={create}
    >
      <div class="toolbar">
        <SelectField
          label="Inbox"
          name="inbox"
          value={inboxId}
          onValue={(id) => route(paths.drafts(id), true)}
          options={inboxOptions(inboxes.value)}
        />
      </div>
      <div class="panel">
        {inboxes.value?.length === 0 ? (
          <Empty icon="inbox" title="There is no inbox yet" />
        ) : (
          <PagedList
            list={list}
            label="drafts"
            empty={
              <Empty icon="edit" title="No drafts">
                A draft is saved as you write it, and an agent or a person can finish it.
              </Empty>
            }
          >
            <DraftTable items={list.items} />
          </PagedList>
        )}
      </div>
      {query.draft && (
        <DraftDialog
          key={query.draft}
          id={query.draft}
          onClose={() => {
            route(paths.drafts(inboxId), true)
            list.reload()
          }}
        />
      )}
    </Page>
  )
}

function DraftTable({ items }: { items: readonly Draft[] }) {
  return (
    <Table columns={['Message', 'To', 'Changed']}>
      {items.map(({ id, inboxId, subject, threadId, to, cc, bcc, updatedAt }) => (
        <tr key={id}>
          <td class="main-cell">
            <a href={paths.draft(inboxId, id)}>
              {subject || (threadId === null ? '(no subject)' : 'Reply')}
            </a>
          </td>
          <td data-label="To" class="muted text-cell">
            <span class="bounded">{[...to, ...cc, ...bcc].join(', ')}</span>
          </td>
          <td data-label="Changed" class="muted nowrap">
            <Time at={updatedAt} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
