// How to connect each assistant: a link that opens it, or a line to copy.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ButtonLink } from '#parts/button.tsx'
import { CodeBlock, CopyButton } from '#parts/small.tsx'
import { Tabs } from '#parts/tabs.tsx'

const assistants = [
  { name: 'claude', text: 'claude.ai' },
  { name: 'chatgpt', text: 'ChatGPT' },
  { name: 'claude-code', text: 'Claude Code' },
  { name: 'cursor', text: 'Cursor' },
  { name: 'vscode', text: 'VS Code' },
  { name: 'others', text: 'Others' },
] as const
type Name = (typeof assistants)[number]['name']

export function ConnectAssistant({ url }: { url: string }) {
  const [name, setName] = useState<Name>('claude')
  return (
    <Tabs<Name>
      label="Assistants"
      current={name}
      onCurrent={setName}
      tabs={assistants.map((one) => ({ ...one, body: () => instructions(url)[one.name] }))}
    />
  )
}

function instructions(url: string): Record<Name, ComponentChildren> {
  return {
    claude: (
      <Words>
        In <strong>Settings</strong>, <strong>Connectors</strong>, choose{' '}
        <strong>Add custom connector</strong> and paste the URL. Leave the client id empty.
      </Words>
    ),
    chatgpt: (
      <Words>
        In <strong>Settings</strong>, <strong>Connectors</strong>, switch on the developer mode,
        choose <strong>Create</strong>, paste the URL and choose the authentication{' '}
        <strong>OAuth</strong>.
      </Words>
    ),
    'claude-code': (
      <Words>
        <Line label="Claude Code" text={`claude mcp add --transport http mailroom ${url}`} />
        Then enter <code>/mcp</code> in Claude Code to sign in.
      </Words>
    ),
    cursor: (
      <Words>
        <ButtonLink href={cursorLink(url)}>Add to Cursor</ButtonLink>
        <Line label="Cursor" text={json({ mcpServers: { mailroom: { url } } })} />
      </Words>
    ),
    vscode: (
      <Words>
        <ButtonLink href={vsCodeLink(url)}>Add to VS Code</ButtonLink>
        <Line label="VS Code" text={json({ servers: { mailroom: { type: 'http', url } } })} />
      </Words>
    ),
    others: (
      <Words>
        For opencode:
        <Line label="opencode" text={json({ mcp: { mailroom: { type: 'remote', url } } })} />
        For programs that start a process:
        <Line label="mcp-remote" text={`npx --yes mcp-remote ${url}`} />
      </Words>
    ),
  }
}

function Words({ children }: { children: ComponentChildren }) {
  return <div class="stack">{children}</div>
}

function Line({ label, text }: { label: string; text: string }) {
  return (
    <>
      <CodeBlock label={`Configuration of ${label}`} text={text} />
      <div>
        <CopyButton text={text} label={`configuration of ${label}`}>
          Copy
        </CopyButton>
      </div>
    </>
  )
}

function json(value: object): string {
  return JSON.stringify(value, null, 2)
}

function cursorLink(url: string): string {
  const query = new URLSearchParams({ name: 'mailroom', config: btoa(JSON.stringify({ url })) })
  return `cursor://anysphere.cursor-deeplink/mcp/install?${query}`
}

function vsCodeLink(url: string): string {
  const config = JSON.stringify({ name: 'mailroom', type: 'http', url })
  return `vscode:mcp/install?${encodeURIComponent(config)}`
}
