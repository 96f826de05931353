// Shows the sign-in page, or the shell with its pages once a person is signed in.

import { useEffect } from 'preact/hooks'
import { LocationProvider, Route, Router } from 'preact-iso/router'
import { useInboxList } from '#data/inbox-list.ts'
import { followEvents, forgetEvents } from '#data/live.ts'
import { closeCompose } from '#data/open-draft.ts'
import { paths } from '#data/paths.ts'
import { usePendingReviews } from '#data/reviews.ts'
import { isApprover, resumeSession, session, startFailure } from '#data/session.ts'
import { dismissToast, toasts } from '#data/toasts.ts'
import { SignInPage } from '#pages/sign-in.tsx'
import { ActionButton, Button, ButtonLink } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { lazyPage } from '#parts/lazy-page.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Shell } from './shell.tsx'

// The browser loads the script of a page when the page is first opened.
const AllMailPage = lazyPage(async () => (await import('#pages/all-mail.tsx')).AllMailPage)
const ApproversPage = lazyPage(async () => (await import('#pages/approvers.tsx')).ApproversPage)
const ConnectionsPage = lazyPage(
  async () => (await import('#pages/connections.tsx')).ConnectionsPage,
)
const DomainPage = lazyPage(async () => (await import('#pages/domain.tsx')).DomainPage)
const DomainsPage = lazyPage(async () => (await import('#pages/domains.tsx')).DomainsPage)
const DraftsPage = lazyPage(async () => (await import('#pages/drafts.tsx')).DraftsPage)
const EventsPage = lazyPage(async () => (await import('#pages/events.tsx')).EventsPage)
const InboxesPage = lazyPage(async () => (await import('#pages/inboxes.tsx')).InboxesPage)
const KeysPage = lazyPage(async () => (await import('#pages/keys.tsx')).KeysPage)
const MailPage = lazyPage(async () => (await import('#pages/mail.tsx')).MailPage)
const OverviewPage = lazyPage(async () => (await import('#pages/overview.tsx')).OverviewPage)
const PairPage = lazyPage(async () => (await import('#pages/pair.tsx')).PairPage)
const PolicyPage = lazyPage(async () => (await import('#pages/policy.tsx')).PolicyPage)
const QuarantinePage = lazyPage(async () => (await import('#pages/quarantine.tsx')).QuarantinePage)
const ReviewPage = lazyPage(async () => (await import('#pages/review.tsx')).ReviewPage)
const ReviewsPage = lazyPage(async () => (await import('#pages/reviews.tsx')).ReviewsPage)
const RulesPage = lazyPage(async () => (await import('#pages/rules.tsx')).RulesPage)
const SandboxPage = lazyPage(async () => (await import('#pages/sandbox.tsx')).SandboxPage)
const ScheduledPage = lazyPage(async () => (await import('#pages/scheduled.tsx')).ScheduledPage)
const SearchPage = lazyPage(async () => (await import('#pages/search.tsx')).SearchPage)
const SettingsPage = lazyPage(async () => (await import('#pages/settings.tsx')).SettingsPage)
const SuppressionsPage = lazyPage(
  async () => (await import('#pages/suppressions.tsx')).SuppressionsPage,
)
const TransfersPage = lazyPage(async () => (await import('#pages/transfers.tsx')).TransfersPage)
const WebhookPage = lazyPage(async () => (await import('#pages/webhook.tsx')).WebhookPage)
const WebhooksPage = lazyPage(async () => (await import('#pages/webhooks.tsx')).WebhooksPage)

export function App() {
  return (
    <LocationProvider scope="/console">
      <Gate />
      <ToastList />
    </LocationProvider>
  )
}

function Gate() {
  if (startFailure.value !== null) {
    return (
      <main class="alone">
        <Trouble error={startFailure.value} retry={() => void resumeSession()} />
      </main>
    )
  }
  const current = session.value
  if (current === undefined) {
    return (
      <main class="alone">
        <Skeleton rows={3} label="Starting" />
      </main>
    )
  }
  // A new session may belong to another account, so all data of the old session is dropped.
  return current === null ? <SignInPage /> : <SignedIn key={current.csrfToken} />
}

function SignedIn() {
  usePendingReviews()
  useInboxList()
  useEffect(() => {
    const ending = new AbortController()
    if (!isApprover.value) void followEvents(ending.signal)
    return () => {
      ending.abort()
      forgetEvents()
      closeCompose()
    }
  }, [])
  if (isApprover.value) return <ApproverPages />
  return (
    <Shell>
      <Router>
        <Route path="/console" component={OverviewPage} />
        <Route path="/console/mail" component={AllMailPage} />
        <Route path="/console/mail/:inboxId/:threadId" component={AllMailPage} />
        <Route path="/console/inboxes" component={InboxesPage} />
        <Route path="/console/inboxes/:inboxId" component={MailPage} />
        <Route path="/console/inboxes/:inboxId/threads/:threadId" component={MailPage} />
        <Route path="/console/inboxes/:inboxId/scheduled" component={ScheduledPage} />
        <Route path="/console/inboxes/:inboxId/transfers" component={TransfersPage} />
        <Route path="/console/drafts" component={DraftsPage} />
        <Route path="/console/search" component={SearchPage} />
        <Route path="/console/reviews" component={ReviewsPage} />
        <Route path="/console/policy" component={PolicyPage} />
        <Route path="/console/approvers" component={ApproversPage} />
        <Route path="/console/reviews/:id" component={ReviewPage} />
        <Route path="/console/domains" component={DomainsPage} />
        <Route path="/console/domains/:id" component={DomainPage} />
        <Route path="/console/webhooks" component={WebhooksPage} />
        <Route path="/console/webhooks/:id" component={WebhookPage} />
        <Route path="/console/events" component={EventsPage} />
        <Route path="/console/suppressions" component={SuppressionsPage} />
        <Route path="/console/quarantine" component={QuarantinePage} />
        <Route path="/console/sender-rules" component={RulesPage} />
        <Route path="/console/keys" component={KeysPage} />
        <Route path="/console/connections" component={ConnectionsPage} />
        <Route path="/console/sandbox" component={SandboxPage} />
        <Route path="/console/settings" component={SettingsPage} />
        <Route path="/console/pair" component={PairPage} />
        <Route default component={MissingPage} />
      </Router>
    </Shell>
  )
}

/** Pages that use only operations an approver may call. */
function ApproverPages() {
  return (
    <Shell>
      <Router>
        <Route path="/console" component={ReviewsPage} />
        <Route path="/console/reviews" component={ReviewsPage} />
        <Route path="/console/policy" component={PolicyPage} />
        <Route path="/console/approvers" component={ApproversPage} />
        <Route path="/console/reviews/:id" component={ReviewPage} />
        <Route default component={OthersPage} />
      </Router>
    </Shell>
  )
}

function OthersPage() {
  return (
    <Page title="Not for approvers">
      <Empty
        icon="shield"
        title="This page needs an API key of the account"
        actions={<ButtonLink href={paths.reviews}>Go to reviews</ButtonLink>}
      >
        Your token can only read mail and decide about held mail.
      </Empty>
    </Page>
  )
}

function MissingPage() {
  return (
    <Page title="Not found">
      <Empty
        icon="search"
        title="Page not found"
        actions={<ButtonLink href={paths.overview}>Go to overview</ButtonLink>}
      >
        The address may be wrong or incomplete.
      </Empty>
    </Page>
  )
}

function ToastList() {
  return (
    <div class="toasts" role="status" aria-live="polite" aria-relevant="additions">
      {toasts.value.map(({ id, kind, text, detail, undo, href }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <div class="toast-words">
            <p>{text}</p>
            {detail && <p class="toast-detail">{detail}</p>}
          </div>
          {undo && (
            <ActionButton
              kind="quiet"
              action={() => {
                dismissToast(id)
                return undo()
              }}
            >
              Undo
            </ActionButton>
          )}
          {href !== null && (
            <ButtonLink kind="quiet" href={href} onClick={() => dismissToast(id)}>
              Open
            </ButtonLink>
          )}
          <Button kind="quiet" icon="close" label="Dismiss" onClick={() => dismissToast(id)} />
        </div>
      ))}
    </div>
  )
}
