// A program that asks for a key: the person compares the code and says whether it may have one.

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
      intro="A program on some machine asks for a key of this account. Let it have one only if you started it yourself."
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
        hint="The program shows it, such as BCDF-2345."
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
        title="No program waits under this code"
        actions={<ButtonLink href={paths.pair}>Enter another code</ButtonLink>}
      >
        Codes hold for ten minutes. Start again in the program, and compare the letters.
      </Empty>
    ) : (
      <Trouble error={request.error} retry={request.reload} />
    )
  }
  if (request.value === undefined) return <Skeleton rows={3} label="Looking for the program" />
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
        If not, somebody else started it: refuse.
      </Notice>
      <dl class="facts">
        <dt>Program</dt>
        <dd>{clientName ?? 'Gave no name'}</dd>
        <dt>Asks from</dt>
        <dd>
          <code>{clientAddress}</code>
        </dd>
        <dt>Asked</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
        <dt>Code ends</dt>
        <dd>
          <Time at={expiresAt} />
        </dd>
      </dl>
      <p class="hint">
        It gets a key of its own, which reads and writes everything in this account until it is
        revoked under <a href={paths.keys}>API keys</a>.
      </p>
      <div class="form-actions">
        <ActionButton action={deny}>Refuse</ActionButton>
        <ActionButton kind="primary" icon="check" action={approve}>
          Give it a key
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
      It takes its key within seconds. You can close this page.
    </Empty>
  ) : (
    <Empty icon="block" title="The program was refused">
      It gets no key. If you did not start it, nothing more is to be done.
    </Empty>
  )
}
