// Runs before the first paint, so that a chosen theme does not flash up in the other one.

import { applyTheme, followSystem, storedTheme } from '#data/theme.ts'

applyTheme(storedTheme())
followSystem()
