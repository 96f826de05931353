// A pairing request: the person compares the code and approves or denies it.

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { describeFailure } from '#data/failure.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { ActionButton, Button, ButtonLink } from '#parts/button.tsx'
import { TextField } from '#parts/field.tsx'
import { Empty, Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { Page } from '#parts/page.tsx'
import { Time } from '#parts/small.tsx'

type Answer = 'approved' | 'denied'

export function PairPage() {
  const { query, route } = useLocation()
  const code = query.code ?? ''
  return (
    <Page
      title="Connect a program"
      intro="A program is asking for an API key of this account. Approve it only if you started it yourself."
    >
      {code === '' ? (
        <EnterCode onCode={(typed) => route(`${paths.pair}?code=${encodeURIComponent(typed)}`)} />
      ) : (
        <Pairing key={code} code={code} />
      )}
    </Page>
  )
}

function EnterCode({ onCode }: { onCode: (code: string) => void }) {
  const [typed, setTyped] = useState('')
  return (
    <form
      class="panel panel-body form pair"
      onSubmit={(event) => {
        event.preventDefault()
        const code = typed.trim().toUpperCase()
        if (code !== '') onCode(code)
      }}
    >
      <TextField
        label="Code"
        name="code"
        value={typed}
        onValue={setTyped}
        hint="Shown by the program, for example BCDF-2345."
        autocomplete="off"
        spellcheck={false}
        isCode
        autofocus
      />
      <div class="form-actions">
        <Button type="submit" kind="primary">
          Continue
        </Button>
      </div>
    </form>
  )
}

function Pairing({ code }: { code: string }) {
  const [answer, setAnswer] = useState<Answer | null>(null)
  const request = useResource(`pairing ${code}`, (signal) => client.pairing.get(code, { signal }))
  if (answer !== null) return <Answered answer={answer} />
  if (request.error) {
    return describeFailure(request.error).isGone ? (
      <Empty
        icon="key"
        title="No request with this code"
        actions={<ButtonLink href={paths.pair}>Enter another code</ButtonLink>}
      >
        Codes expire after ten minutes. Start again in the program and check the code.
      </Empty>
    ) : (
      <Trouble error={request.error} retry={request.reload} />
    )
  }
  if (request.value === undefined) return <Skeleton rows={3} label="Loading the request" />
  const { userCode, clientName, clientAddress, createdAt, expiresAt } = request.value
  const approve = async () => {
    await client.pairing.approve(code)
    setAnswer('approved')
  }
  const deny = async () => {
    await client.pairing.deny(code)
    setAnswer('denied')
  }
  return (
    <div class="panel panel-body stack pair">
      <p class="pair-code">{userCode}</p>
      <Notice tone="warn" title="Does the program show this same code?">
        If not, someone else started it: deny it.
      </Notice>
      <dl class="facts">
        <dt>Program</dt>
        <dd>{clientName ?? 'Unnamed'}</dd>
        <dt>IP address</dt>
        <dd>
          <code>{clientAddress}</code>
        </dd>
        <dt>Requested</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
        <dt>Expires</dt>
        <dd>
          <Time at={expiresAt} />
        </dd>
      </dl>
      <p class="hint">
        The program gets its own key with full access to this account until you revoke it under{' '}
        <a href={paths.keys}>API keys</a>.
      </p>
      <div class="form-actions">
        <ActionButton action={deny}>Deny</ActionButton>
        <ActionButton kind="primary" icon="check" action={approve}>
          Approve
        </ActionButton>
      </div>
    </div>
  )
}

function Answered({ answer }: { answer: Answer }) {
  return answer === 'approved' ? (
    <Empty
      icon="check"
      title="The program is connected"
      actions={<ButtonLink href={paths.keys}>API keys</ButtonLink>}
    >
      It receives its key within seconds. You can close this page.
    </Empty>
  ) : (
    <Empty icon="block" title="Request denied">
      The program gets no key. You can close this page.
    </Empty>
  )
}
