// The drafts of an inbox.

import type { Draft } from '@mailroom/sdk'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { aboutOf } from '#data/composed-message.ts'
import { inboxOptions, readInboxChoices } from '#data/inbox-choices.ts'
import { currentInboxId, openCompose, openSaved } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { readSavedDraft } from '#data/saved-draft.ts'
import { client } from '#data/session.ts'
import { toastFailure } from '#data/toasts.ts'
import { useResource } from '#data/use-resource.ts'
import { discarded, draftChanges } from '#data/writing.ts'
import { Button } from '#parts/button.tsx'
import { SelectField } from '#parts/field.tsx'
import { Empty } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { Table } from '#parts/table.tsx'

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
  const shown = list.items.filter(({ id }) => !discarded.value.has(id))
  const changes = draftChanges.value
  useEffect(() => {
    if (changes > 0) list.reload()
  }, [changes])
  useEffect(() => {
    const { draft: id } = query
    if (id === undefined) return
    const leaving = new AbortController()
    readSavedDraft(id, leaving.signal).then(({ saved, draft }) => {
      const about = aboutOf(draft)
      if (about === null) openSaved(draft, saved)
      route(about === null ? paths.drafts(inboxId) : paths.threadDraft(about, id), true)
    }, toastFailure)
    return () => leaving.abort()
  }, [query.draft])
  const create = (
    <Button
      kind="primary"
      icon="plus"
      isDisabled={inboxId === ''}
      onClick={() => openCompose({ inboxId })}
    >
      New draft
    </Button>
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
            list={{ ...list, items: shown }}
            label="drafts"
            empty={
              <Empty icon="edit" title="No drafts">
                A draft is saved as you write it, and an agent or a person can finish it.
              </Empty>
            }
          >
            <DraftTable items={shown} />
          </PagedList>
        )}
      </div>
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
