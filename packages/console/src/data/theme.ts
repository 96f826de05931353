// Light, dark or system theme, stored in this browser and applied by attributes of the document.

const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const STORED_AS = 'mailroom.theme'

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED_AS)
    return themes.find((theme) => theme === stored) ?? 'system'
  } catch {
    // Storage may be disabled.
    return 'system'
  }
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** Sets the attributes for the style sheet, and the chosen theme. */
export function applyTheme(theme: Theme): void {
  const shown = theme === 'system' ? (prefersDark.matches ? 'dark' : 'light') : theme
  Object.assign(document.documentElement.dataset, { theme: shown, themeChosen: theme })
}

/** Follows the system unless a theme was chosen. */
export function followSystem(): void {
  prefersDark.addEventListener('change', () => {
    if (document.documentElement.dataset.themeChosen === 'system') applyTheme('system')
  })
}

export function storeTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(STORED_AS, theme)
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}
