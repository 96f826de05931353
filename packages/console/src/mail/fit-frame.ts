// Sizes a frame to its page, and scales pages that are too wide. Only two numbers are read from the
// page, because its author is not trusted.

/** A taller message scrolls in its frame. */
const HEIGHT_MAX_PX = 20_000
/** The height while measuring. A page as tall as its window would otherwise grow forever. */
const MEASURED_AT_PX = 120
/** Below this scale text is unreadable, so a wider page scrolls sideways. */
const SCALE_MIN = 0.4
/** A page that keeps changing is no longer resized. */
const FITS_MAX = 200

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
    style.width = '100%'
    style.height = `${MEASURED_AT_PX}px`
    style.transform = 'none'
    const scale = Math.min(1, Math.max(SCALE_MIN, width / sizeOf(page).width))
    style.width = `${Math.floor(width / scale)}px`
    const height = Math.min(HEIGHT_MAX_PX, heightOf(page, style))
    style.height = `${height}px`
    // A page slightly taller than its window would show a scroll bar forever.
    const isWhole = height < HEIGHT_MAX_PX && scale > SCALE_MIN
    frame.setAttribute('scrolling', isWhole ? 'no' : 'auto')
    if (scale < 1) style.transform = `scale(${scale})`
    box.style.height = `${Math.ceil(height * scale)}px`
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
