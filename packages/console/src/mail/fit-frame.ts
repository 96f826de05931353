// A frame as high as its page, which is made smaller where it is wider than the room. From the page, which a stranger
// wrote, only two numbers are read.

/** A higher message scrolls in its frame. */
const HEIGHT_MAX_PX = 20_000
/** The height at which a page is measured: with what is as high as the window it would grow for ever. */
const MEASURED_AT_PX = 120
/** Smaller text cannot be read; a wider page scrolls sideways. */
const SCALE_MIN = 0.4
/** A page that keeps changing is left alone. */
const FITS_MAX = 200

/** Until the returned function is called. The box keeps its height while the page in it is measured. */
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
    // What is as high as the window, and a little more, would keep a scroll bar for ever.
    const isWhole = height < HEIGHT_MAX_PX && scale > SCALE_MIN
    frame.setAttribute('scrolling', isWhole ? 'no' : 'auto')
    if (scale < 1) style.transform = `scale(${scale})`
    box.style.height = `${Math.ceil(height * scale)}px`
  }
  const ofBox = new ResizeObserver(() => {
    if (box.clientWidth !== width) fit()
  })
  // Opened details, and images that come late.
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

/** Null before it has loaded, and where a browser does not tell the service that it shows a frame of its own. */
function pageOf(frame: HTMLIFrameElement): Document | null {
  const page = frame.contentDocument
  return page?.documentElement == null || page.URL === 'about:blank' ? null : page
}

/** Of a page that is lower than it was measured at too, unless its height follows that of the window. */
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
