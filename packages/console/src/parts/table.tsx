// Tables, shown as cards on narrow screens.

import type { ComponentChildren } from 'preact'

export function Table({
  columns,
  hasTools = false,
  children,
}: {
  columns: readonly string[]
  /** The last cell of each row is `RowTools`. */
  hasTools?: boolean
  children: ComponentChildren
}) {
  return (
    <div class="table-wrap">
      <table class="table cards">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {hasTools && (
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

export function RowTools({ children }: { children: ComponentChildren }) {
  return (
    <td class="tools">
      <div>{children}</div>
    </td>
  )
}
