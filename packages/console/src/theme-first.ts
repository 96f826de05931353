// Runs before the first paint, so that the page does not flash in the wrong theme.

import { applyTheme, followSystem, storedTheme } from '#data/theme.ts'

applyTheme(storedTheme())
followSystem()
