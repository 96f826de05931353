// Light, dark or as the system says: kept in this browser, shown by an attribute of the document.

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const STORED_AS = 'mailroom.theme'

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED_AS)
    return themes.find((theme) => theme === stored) ?? 'system'
  } catch {
    // Storage can be switched off.
    return 'system'
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function storeTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(STORED_AS, theme)
  } catch {
    // It holds until the page is left.
  }
}
