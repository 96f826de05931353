// Shows the sign-in page, or the shell with its pages if somebody is signed in.

import { useEffect } from 'preact/hooks'
import { LocationProvider, Route, Router } from 'preact-iso/router'
import { closeCompose } from '#data/compose.ts'
import { followEvents, forgetEvents } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { usePendingReviews } from '#data/reviews.ts'
import { isApprover, resumeSession, session, startFailure } from '#data/session.ts'
import { dismissToast, toasts } from '#data/toasts.ts'
import { ApproversPage } from '#pages/approvers.tsx'
import { DomainPage } from '#pages/domain.tsx'
import { DomainsPage } from '#pages/domains.tsx'
import { DraftsPage } from '#pages/drafts.tsx'
import { EventsPage } from '#pages/events.tsx'
import { InboxesPage } from '#pages/inboxes.tsx'
import { KeysPage } from '#pages/keys.tsx'
import { MailPage } from '#pages/mail.tsx'
import { OverviewPage } from '#pages/overview.tsx'
import { PairPage } from '#pages/pair.tsx'
import { PolicyPage } from '#pages/policy.tsx'
import { QuarantinePage } from '#pages/quarantine.tsx'
import { ReviewPage } from '#pages/review.tsx'
import { ReviewsPage } from '#pages/reviews.tsx'
import { RulesPage } from '#pages/rules.tsx'
import { SandboxPage } from '#pages/sandbox.tsx'
import { ScheduledPage } from '#pages/scheduled.tsx'
import { SearchPage } from '#pages/search.tsx'
import { SettingsPage } from '#pages/settings.tsx'
import { SignInPage } from '#pages/sign-in.tsx'
import { SuppressionsPage } from '#pages/suppressions.tsx'
import { TransfersPage } from '#pages/transfers.tsx'
import { WebhookPage } from '#pages/webhook.tsx'
import { WebhooksPage } from '#pages/webhooks.tsx'
import { ActionButton, Button, ButtonLink } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Shell } from './shell.tsx'

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
  // A new session may be another account's, so nothing of the old one stays.
  return current === null ? <SignInPage /> : <SignedIn key={current.csrfToken} />
}

function SignedIn() {
  usePendingReviews()
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
        <Route path="/console/sandbox" component={SandboxPage} />
        <Route path="/console/settings" component={SettingsPage} />
        <Route path="/console/pair" component={PairPage} />
        <Route default component={MissingPage} />
      </Router>
    </Shell>
  )
}

/** The pages whose operations an approver may call. */
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
        Your token reads mail and decides about what is held, and nothing else.
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
      {toasts.value.map(({ id, kind, text, detail, undo }) => (
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
          <Button kind="quiet" icon="close" label="Dismiss" onClick={() => dismissToast(id)} />
        </div>
      ))}
    </div>
  )
}
