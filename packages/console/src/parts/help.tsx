// The keys and what they do.

import { Dialog } from './dialog.tsx'
import { Key } from './small.tsx'

const everywhere = [
  ['c', 'Compose'],
  ['/', 'Search'],
  ['?', 'This help'],
  ['Esc', 'Close, or go back to the list'],
] as const

const inLists = [
  ['j', 'Next'],
  ['k', 'Previous'],
  ['Enter', 'Open'],
  ['r', 'Reply'],
  ['u', 'Mark as unread or read'],
] as const

export function HelpDialog({
  places,
  onClose,
}: {
  places: readonly { text: string; letter?: string }[]
  onClose: () => void
}) {
  const goes = places.flatMap(({ text, letter }) => (letter ? [[`g ${letter}`, text]] : []))
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} size="wide">
      <div class="help">
        <Keys title="Everywhere" keys={everywhere} />
        <Keys title="Mail" keys={inLists} />
        <Keys title="Go to" keys={goes} />
      </div>
    </Dialog>
  )
}

function Keys({ title, keys }: { title: string; keys: readonly (readonly string[])[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {keys.map(([keyed = '', text]) => (
          <div key={keyed}>
            <dt>
              {keyed.split(' ').map((one) => (
                <Key key={one}>{one}</Key>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
