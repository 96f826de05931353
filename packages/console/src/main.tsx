// Starts the console.

import { render } from 'preact'
import { App } from '#app.tsx'
import { listenToKeys } from '#data/keyboard.ts'
import { resumeSession } from '#data/session.ts'

const root = document.getElementById('app')
if (root !== null) {
  listenToKeys()
  void resumeSession()
  render(<App />, root)
}
