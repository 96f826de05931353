// Signs in with an API key. The URL stays, so that the requested page appears afterwards.

import { useState } from 'preact/hooks'
import { describeFailure } from '#data/failure.ts'
import { signedOutReason, signIn } from '#data/session.ts'
import { Button } from '#parts/button.tsx'
import { TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { Notice } from '#parts/notice.tsx'
import { PageTitle, useTitle } from '#parts/page.tsx'

export function SignInPage() {
  const [apiKey, setApiKey] = useState('')
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  useTitle('Sign in')
  const submit = async () => {
    setIsBusy(true)
    setFailure(null)
    try {
      await signIn(apiKey.trim())
    } catch (error) {
      setFailure(error)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <main class="alone" id="content">
      <form
        class="sign-in"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBusy && apiKey.trim() !== '') void submit()
        }}
      >
        <span class="brand-mark large">
          <Icon name="mail" size={24} />
        </span>
        <PageTitle>Sign in to Mailroom</PageTitle>
        <p class="muted">
          Enter an API key of your account, or your token as an approver. The first key was printed
          when the service started for the first time.
        </p>
        {signedOutReason.value && failure === null && (
          <Notice tone="info" title={signedOutReason.value} />
        )}
        {failure !== null && <SignInFailure error={failure} />}
        <TextField
          label="API key or token of an approver"
          name="api-key"
          type="password"
          value={apiKey}
          onValue={setApiKey}
          placeholder="mr_…"
          autocomplete="current-password"
          spellcheck={false}
          required
          autofocus
          isCode
        />
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Sign in
        </Button>
        <p class="hint">
          The key is exchanged for a twelve-hour session and is not stored in this browser.
        </p>
      </form>
    </main>
  )
}

function SignInFailure({ error }: { error: unknown }) {
  const { message, fix } = describeFailure(error)
  const isRefused = 'status' in Object(error) && Object(error).status === 401
  if (!isRefused) {
    return (
      <Notice tone="bad" title={message}>
        {fix}
      </Notice>
    )
  }
  return (
    <Notice tone="bad" title="Invalid API key">
      The key may be mistyped or revoked. On the server, <code>mailroom admin account list</code>{' '}
      prints the accounts, and <code>mailroom admin key create --account ID</code> creates a key for
      one of them. In a checkout, use <code>npx mailroom</code>.
    </Notice>
  )
}
