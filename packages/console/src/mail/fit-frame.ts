// Sizes a frame to its page. A page that is too wide for a narrow screen is laid out anew in its
// width; what is still too wide moves sideways in the frame at its full size. Only two numbers are
// read from the page, because its author is not trusted.

/** A taller message scrolls in its frame. */
const HEIGHT_MAX_PX = 20_000
/** The height while measuring. A page as tall as its window would otherwise grow forever. */
const MEASURED_AT_PX = 120
/** A page that keeps changing is no longer resized. */
const FITS_MAX = 200
/** Room for the bar of a page that scrolls sideways. */
const BAR_PX = 16

/** Undoes fixed widths. */
const NARROW = `
  body * { max-width: 100% !important; min-width: 0 !important }
  body :not(img, table) { width: auto !important }
  table:not([width$="%"]) { width: auto !important }
  img { height: auto !important }
  pre { white-space: pre-wrap !important }
  body { overflow-wrap: anywhere }
`
const NARROW_MAX_PX = 640

/**
 * Runs until the returned function is called. The box keeps its height while its page is measured.
 */
export function keepFitted(frame: HTMLIFrameElement, box: HTMLElement): () => void {
  let fits = 0
  let width = -1
  const fit = () => {
    const page = pageOf(frame)
    if (page === null || fits >= FITS_MAX) return
    fits += 1
    width = box.clientWidth
    const { style } = frame
    style.height = `${MEASURED_AT_PX}px`
    if (width <= NARROW_MAX_PX && sizeOf(page).width > width) narrow(page)
    const isWide = sizeOf(page).width > width
    const height = Math.min(HEIGHT_MAX_PX, heightOf(page, style)) + (isWide ? BAR_PX : 0)
    style.height = `${height}px`
    // A page slightly taller than its window would show a scroll bar forever.
    const isWhole = height < HEIGHT_MAX_PX && !isWide
    frame.setAttribute('scrolling', isWhole ? 'no' : 'auto')
    box.style.height = `${height}px`
  }
  const ofBox = new ResizeObserver(() => {
    if (box.clientWidth !== width) fit()
  })
  // Details may be opened, and images may load late.
  const ofPage = new ResizeObserver(fit)
  const begin = () => {
    fit()
    const page = pageOf(frame)
    ofPage.disconnect()
    if (page !== null) ofPage.observe(page.body ?? page.documentElement)
  }
  frame.addEventListener('load', begin)
  ofBox.observe(box)
  return () => {
    frame.removeEventListener('load', begin)
    ofBox.disconnect()
    ofPage.disconnect()
  }
}

const narrowed = new WeakSet<Document>()

/** The policy of the page permits styles, and this one is the last. */
function narrow(page: Document): void {
  if (narrowed.has(page)) return
  narrowed.add(page)
  const style = page.createElement('style')
  style.textContent = `@media (max-width: ${NARROW_MAX_PX}px) { ${NARROW} }`
  page.documentElement.append(style)
}

/** The frame's page; null before loading, and in browsers that deny access to it. */
function pageOf(frame: HTMLIFrameElement): Document | null {
  const page = frame.contentDocument
  return page?.documentElement == null || page.URL === 'about:blank' ? null : page
}

/** The height of the page's content, which may be lower than the window. */
function heightOf(page: Document, style: CSSStyleDeclaration): number {
  const { height } = sizeOf(page)
  if (height > MEASURED_AT_PX) return height
  const before = page.documentElement.offsetHeight
  style.height = '1px'
  return page.documentElement.offsetHeight === before ? sizeOf(page).height : height
}

function sizeOf(page: Document): { width: number; height: number } {
  const { scrollWidth, scrollHeight } = page.documentElement
  return { width: Math.max(1, scrollWidth), height: Math.max(1, scrollHeight) }
}
