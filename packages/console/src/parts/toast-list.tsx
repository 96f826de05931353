// The toasts, read out when they come.

import { dismissToast, toasts } from '#data/toasts.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

export function ToastList() {
  return (
    <div class="toasts" role="status" aria-live="polite" aria-relevant="additions">
      {toasts.value.map(({ id, kind, text, detail }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <div class="toast-words">
            <p>{text}</p>
            {detail && <p class="toast-detail">{detail}</p>}
          </div>
          <Button kind="quiet" icon="close" label="Dismiss" onClick={() => dismissToast(id)} />
        </div>
      ))}
    </div>
  )
}
