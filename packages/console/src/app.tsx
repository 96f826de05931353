// Shows the sign-in page, or the shell with its pages if somebody is signed in.

import { useEffect } from 'preact/hooks'
import { LocationProvider, Route, Router } from 'preact-iso/router'
import { closeCompose } from '#data/compose.ts'
import { useInboxList } from '#data/inbox-list.ts'
import { followEvents, forgetEvents } from '#data/live.ts'
import { paths } from '#data/paths.ts'
import { usePendingReviews } from '#data/reviews.ts'
import { isApprover, resumeSession, session, startFailure } from '#data/session.ts'
import { dismissToast, toasts } from '#data/toasts.ts'
import { AllMailPage } from '#pages/all-mail.tsx'
import { DraftsPage } from '#pages/drafts.tsx'
import { InboxesPage } from '#pages/inboxes.tsx'
import { MailPage } from '#pages/mail.tsx'
import { OverviewPage } from '#pages/overview.tsx'
import { SearchPage } from '#pages/search.tsx'
import { SignInPage } from '#pages/sign-in.tsx'
import { ActionButton, Button, ButtonLink } from '#parts/button.tsx'
import { Icon } from '#parts/icon.tsx'
import { lazyPage } from '#parts/lazy-page.tsx'
import { Empty, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Shell } from './shell.tsx'

// A browser loads these scripts when one of their pages is opened.
const mailFlow = async () => (await import('#pages/mail-flow.ts')).mailFlow
const decisions = async () => (await import('#pages/decisions.ts')).decisions
const developers = async () => (await import('#pages/developers.ts')).developers

const DomainPage = lazyPage(async () => (await mailFlow()).DomainPage)
const DomainsPage = lazyPage(async () => (await mailFlow()).DomainsPage)
const QuarantinePage = lazyPage(async () => (await mailFlow()).QuarantinePage)
const RulesPage = lazyPage(async () => (await mailFlow()).RulesPage)
const ScheduledPage = lazyPage(async () => (await mailFlow()).ScheduledPage)
const SuppressionsPage = lazyPage(async () => (await mailFlow()).SuppressionsPage)
const TransfersPage = lazyPage(async () => (await mailFlow()).TransfersPage)
const ApproversPage = lazyPage(async () => (await decisions()).ApproversPage)
const PolicyPage = lazyPage(async () => (await decisions()).PolicyPage)
const ReviewPage = lazyPage(async () => (await decisions()).ReviewPage)
const ReviewsPage = lazyPage(async () => (await decisions()).ReviewsPage)
const EventsPage = lazyPage(async () => (await developers()).EventsPage)
const KeysPage = lazyPage(async () => (await developers()).KeysPage)
const PairPage = lazyPage(async () => (await developers()).PairPage)
const SandboxPage = lazyPage(async () => (await developers()).SandboxPage)
const SettingsPage = lazyPage(async () => (await developers()).SettingsPage)
const WebhookPage = lazyPage(async () => (await developers()).WebhookPage)
const WebhooksPage = lazyPage(async () => (await developers()).WebhooksPage)

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
