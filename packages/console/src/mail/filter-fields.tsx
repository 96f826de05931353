// The filter of a thread list: its fields, and chips that show the active filter.

import { useId, useState } from 'preact/hooks'
import { Button } from '#parts/button.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { categoryOptions, categoryWord, isCategory } from './category.tsx'
import { LabelSuggestions } from './labels.tsx'
import { isPlace, noFilter, placeWords, type ThreadFilter } from './thread-filter.ts'

const placeOptions = Object.entries(placeWords).map(([value, text]) => ({ value, text }))

type Filtering = { filter: ThreadFilter; onFilter: (filter: ThreadFilter) => void }

export function FilterFields({ filter, onFilter }: Filtering) {
  const { place, category, label, assignee } = filter
  return (
    <div class="filters">
      <div class="filter-row">
        <SelectField
          label="Threads shown"
          name="show"
          isLabelHidden
          value={place}
          options={placeOptions}
          onValue={(value) => onFilter({ ...filter, place: isPlace(value) ? value : 'all' })}
        />
        <SelectField
          label="Kind of mail"
          name="category"
          isLabelHidden
          value={category ?? ''}
          options={categoryOptions}
          onValue={(value) => onFilter({ ...filter, category: isCategory(value) ? value : null })}
        />
      </div>
      <Words key={`${label} ${assignee}`} filter={filter} onFilter={onFilter} />
    </div>
  )
}

/** Renders nothing without a filter. */
export function FilterChips({ filter, onFilter }: Filtering) {
  const { place, category, label, assignee } = filter
  const chips: { text: string; without: Partial<ThreadFilter> }[] = []
  if (place !== 'all') chips.push({ text: placeWords[place], without: { place: 'all' } })
  if (category !== null) {
    chips.push({ text: `Kind: ${categoryWord(category)}`, without: { category: null } })
  }
  if (label !== '') chips.push({ text: `Label: ${label}`, without: { label: '' } })
  if (assignee !== '') chips.push({ text: `Assigned to: ${assignee}`, without: { assignee: '' } })
  if (chips.length === 0) return null
  return (
    <div class="filter-chips">
      {chips.map(({ text, without }) => (
        <span key={text} class="label">
          <span>{text}</span>
          <button
            type="button"
            aria-label={`Remove the filter ${text}`}
            onClick={() => onFilter({ ...filter, ...without })}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <Button kind="quiet" onClick={() => onFilter(noFilter)}>
        Clear filter
      </Button>
    </div>
  )
}

function Words({ filter, onFilter }: Filtering) {
  const [label, setLabel] = useState(filter.label)
  const [assignee, setAssignee] = useState(filter.assignee)
  const listId = useId()
  return (
    <form
      class="filter-row"
      onSubmit={(event) => {
        event.preventDefault()
        onFilter({ ...filter, label: label.trim().toLowerCase(), assignee: assignee.trim() })
      }}
    >
      <TextField
        label="Label"
        name="filterLabel"
        isLabelHidden
        placeholder="Label"
        value={label}
        onValue={setLabel}
        list={listId}
        autocomplete="off"
        spellcheck={false}
      />
      <LabelSuggestions id={listId} />
      <TextField
        label="Assigned to"
        name="filterAssignee"
        isLabelHidden
        placeholder="Assigned to"
        value={assignee}
        onValue={setAssignee}
        autocomplete="off"
      />
      <Button type="submit">Apply</Button>
    </form>
  )
}
