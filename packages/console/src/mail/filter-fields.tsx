// Filters of the thread list.

import { useId, useState } from 'preact/hooks'
import { Button } from '#parts/button.tsx'
import { SelectField, TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'
import { categoryOptions, isCategory } from './category.tsx'
import { SeenLabels } from './labels.tsx'
import { type ThreadFilter, type ThreadPlace, threadPlaces } from './thread-filter.ts'

const placeWords: Readonly<Record<ThreadPlace, string>> = {
  all: 'All threads',
  awake: 'Not snoozed',
  snoozed: 'Snoozed',
  trash: 'Trash',
}
const placeOptions = threadPlaces.map((value) => ({ value, text: placeWords[value] }))

type Filtering = { filter: ThreadFilter; onFilter: (filter: ThreadFilter) => void }

export function FilterFields({ filter, onFilter }: Filtering) {
  const { place, category, label, assignee } = filter
  const [isOpen, setIsOpen] = useState(false)
  return (
    <div class="filters">
      <div class="filter-row">
        <SelectField
          label="Threads shown"
          name="show"
          isLabelHidden
          value={place}
          options={placeOptions}
          onValue={(value) =>
            onFilter({ ...filter, place: threadPlaces.find((one) => one === value) ?? 'all' })
          }
        />
        <SelectField
          label="Kind of mail"
          name="category"
          isLabelHidden
          value={category ?? ''}
          options={categoryOptions}
          onValue={(value) => onFilter({ ...filter, category: isCategory(value) ? value : null })}
        />
        <Button
          kind="quiet"
          icon="filter"
          label="Filter by label or assignee"
          isPressed={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        />
      </div>
      {isOpen && <Words key={`${label} ${assignee}`} filter={filter} onFilter={onFilter} />}
      {!isOpen && (label !== '' || assignee !== '') && (
        <div class="filter-row">
          {label !== '' && (
            <Active text={`Label: ${label}`} onEnd={() => onFilter({ ...filter, label: '' })} />
          )}
          {assignee !== '' && (
            <Active
              text={`Assigned to: ${assignee}`}
              onEnd={() => onFilter({ ...filter, assignee: '' })}
            />
          )}
        </div>
      )}
    </div>
  )
}

function Active({ text, onEnd }: { text: string; onEnd: () => void }) {
  return (
    <span class="label">
      <span>{text}</span>
      <button type="button" aria-label={`Remove the filter ${text}`} onClick={onEnd}>
        <Icon name="close" size={12} />
      </button>
    </span>
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
        autofocus
      />
      <SeenLabels id={listId} />
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
