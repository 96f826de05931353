// A field for recipients, which completes the one being typed from the correspondents of the inbox
// (WAI-ARIA, combobox with a listbox).

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { formatPerson, type Person } from '#data/format.ts'
import { keyOf, lastEntry } from '#data/recipients.ts'
import { client } from '#data/session.ts'
import { TextField } from '#parts/field.tsx'

const SUGGESTED_MAX = 6
const ASK_AFTER_MS = 150
const THREADS_READ = 50

export function RecipientField({
  inboxId,
  value,
  onValue,
  ...field
}: {
  label: string
  name: string
  inboxId: string
  value: string
  onValue: (value: string) => void
  error: string | undefined
  hint?: string | undefined
  required?: boolean
  autofocus?: boolean
}) {
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const [found, setFound] = useState<readonly string[]>([])
  const [chosen, setChosen] = useState(0)
  const typed = lastEntry(value)
  const isOpen = found.length > 0
  const [isTyping, setIsTyping] = useState(false)
  useEffect(() => {
    setFound([])
    if (!isTyping || typed === '' || inboxId === '') return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      findCorrespondents(inboxId, typed, leaving.signal).then(
        (entries) => {
          const taken = new Set(value.split(/[,;]/).map(keyOf))
          setChosen(0)
          setFound(entries.filter((entry) => !taken.has(keyOf(entry))).slice(0, SUGGESTED_MAX))
        },
        () => {},
      )
    }, ASK_AFTER_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [typed, inboxId, isTyping])
  const take = (entry: string | undefined) => {
    setIsTyping(false)
    setFound([])
    if (entry === undefined) return
    onValue(`${value.slice(0, value.length - typed.length)}${entry}, `)
    box.current?.querySelector('input')?.focus()
  }
  const choose = (event: KeyboardEvent) => {
    if (!isOpen || event.ctrlKey || event.metaKey) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen((chosen + step + found.length) % found.length)
    else if (event.key === 'Enter' || event.key === 'Tab') take(found[chosen])
    else if (event.key === 'Escape') take(undefined)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div ref={box} class="recipients">
      <TextField
        {...field}
        value={value}
        onValue={(next) => {
          setIsTyping(true)
          onValue(next)
        }}
        autocomplete="off"
        spellcheck={false}
        combobox={{
          'aria-expanded': isOpen,
          'aria-controls': id,
          'aria-activedescendant': isOpen ? `${id}-${chosen}` : undefined,
          onBlur: () => setIsTyping(false),
          onKeyDown: choose,
        }}
      />
      <div
        id={id}
        role="listbox"
        aria-label={`Suggestions for ${field.label}`}
        class="suggestions"
        hidden={!isOpen}
      >
        {found.map((entry, index) => (
          <div
            key={entry}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault()
              take(entry)
            }}
          >
            {entry}
          </div>
        ))}
      </div>
    </div>
  )
}

/** People in the newest threads in which a sender or a recipient contains the text. */
async function findCorrespondents(
  inboxId: string,
  text: string,
  signal: AbortSignal,
): Promise<string[]> {
  const bounds = { limit: THREADS_READ, signal }
  const lists = await Promise.all([
    client.threads.list(inboxId, { ...bounds, from: text }).page(),
    client.threads.list(inboxId, { ...bounds, to: text }).page(),
  ])
  const people = lists.flatMap(({ data }) => data.flatMap(({ participants }) => participants))
  const isMeant = ({ name, address }: Person) =>
    `${name ?? ''} ${address}`.toLowerCase().includes(text.toLowerCase())
  const entries = new Map<string, string>()
  for (const person of people.filter(isMeant)) {
    const known = entries.get(person.address)
    if (known === undefined || known === person.address) {
      entries.set(person.address, formatPerson(person))
    }
  }
  return [...entries.values()]
}
