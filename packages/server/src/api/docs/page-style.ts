// The style sheet and the script of the pages of documentation.

/** Both themes follow the system until the reader chooses one. */
export const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); --link: light-dark(#0b57c5, #8ab4f8); --muted: color-mix(in srgb, currentColor 70%, transparent) }
:root[data-theme=light] { color-scheme: light } :root[data-theme=dark] { color-scheme: dark }
* { box-sizing: border-box }
[hidden] { display: none !important }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; display: grid; grid-template: auto 1fr / 17rem minmax(0, 1fr); background: Canvas; color: CanvasText }
header { grid-column: 1 / -1; position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .6rem 1rem; background: Canvas; border-bottom: 1px solid var(--line) }
header a { color: inherit; text-decoration: none; font-weight: 600 } header form { flex: 1; max-width: 28rem }
input[type=search], button { font: inherit; min-height: 2.5rem; padding: .3rem .7rem; border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit } input[type=search] { width: 100% } button { cursor: pointer }
nav { position: sticky; top: 3.8rem; height: calc(100vh - 3.8rem); overflow: auto; padding: .5rem 1rem 2rem; border-right: 1px solid var(--line); font-size: .88rem }
nav h2 { margin: 1.1rem 0 .3rem; font-size: .82rem; color: var(--muted) } nav ul { list-style: none; margin: 0; padding: 0 }
nav li a { display: block; padding: .2rem .5rem; border-radius: 5px; color: inherit; text-decoration: none } nav a:hover { background: var(--soft) }
nav a[aria-current] { background: var(--soft); font-weight: 600 } nav li ul { padding-left: .8rem } nav summary { display: none; font-weight: 600; cursor: pointer; padding: .5rem 0 }
main { padding: .5rem 2.5rem 5rem; max-width: 62rem; min-width: 0 } main a { color: var(--link) } h2, h3 { line-height: 1.3; margin-top: 2.2rem } article { border-top: 1px solid var(--line); margin-top: 2.5rem }
h2 a, h3 a { color: inherit !important; text-decoration: none } h4 { margin: 1.2rem 0 .3rem; font-size: .88rem } img { max-width: 100%; border: 1px solid var(--line); border-radius: 8px }
.path { margin-top: 0; overflow-wrap: anywhere } i { color: var(--muted); font-size: .85em }
pre { overflow: auto; margin: .4rem 0; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--soft); line-height: 1.45 } code { font: .86em ui-monospace, monospace } :not(pre) > code { overflow-wrap: anywhere }
.samples > div:first-child { display: flex; gap: .4rem } .samples button { min-height: 2rem; padding: .1rem .6rem; font-size: .85rem } .samples button[aria-pressed=true] { background: var(--soft); font-weight: 600 }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem } caption { text-align: left; font-weight: 600 }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere } .fields td:first-child { width: 30% } .fields td:nth-child(2) { width: 18% }
.d1 { padding-left: 1rem } .d2 { padding-left: 2rem } .d3 { padding-left: 3rem } .d4 { padding-left: 4rem }
:target { scroll-margin-top: 5rem } h2, h3, article, tr { scroll-margin-top: 5rem } article:target > h3, tr:target { background: var(--soft) }
.found li { margin: .9rem 0 } .found p { margin: 0; color: var(--muted) }
@media (max-width: 54rem) {
  body { display: block } nav { position: static; height: auto; border: 0; border-bottom: 1px solid var(--line); padding: 0 1rem } nav summary { display: block } nav li a { padding: .5rem }
  main { padding: .5rem 1rem 3rem } .fields thead { display: none } .fields tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line) } .fields td { display: block; width: auto !important; border: 0; padding-top: 0; padding-bottom: 0 }
}
`

/** Closes the contents on a small screen, keeps the chosen theme, and shows samples in one language at a time. */
export const script = `
const root = document.documentElement, menu = document.getElementById('menu'), theme = document.getElementById('theme')
const kept = { get: (name) => { try { return localStorage.getItem(name) } catch { return null } }, set: (name, value) => { try { localStorage.setItem(name, value) } catch {} } }
const chosen = kept.get('mailroom-docs-theme')
if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen
theme.hidden = false
theme.addEventListener('click', () => {
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = isDark ? 'light' : 'dark'
  kept.set('mailroom-docs-theme', root.dataset.theme)
})
if (matchMedia('(max-width: 54rem)').matches) menu.open = false
const groups = [...document.querySelectorAll('.samples')]
function show(language) {
  for (const group of groups) {
    const samples = [...group.querySelectorAll('[data-language]')]
    const wanted = samples.find((one) => one.dataset.language === language) ?? samples[0]
    for (const one of samples) one.hidden = one !== wanted
    for (const button of group.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button.textContent === wanted.dataset.language))
  }
}
for (const group of groups) {
  const bar = document.createElement('div')
  for (const { dataset } of group.querySelectorAll('[data-language]')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = dataset.language
    button.addEventListener('click', () => {
      const top = button.getBoundingClientRect().top
      show(dataset.language)
      kept.set('mailroom-docs-language', dataset.language)
      scrollBy(0, button.getBoundingClientRect().top - top)
    })
    bar.append(button)
  }
  group.prepend(bar)
}
show(kept.get('mailroom-docs-language') ?? 'curl')
`
