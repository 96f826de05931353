// Extracts the text of a PDF (ISO 32000) with pdf.js, page by page in content order. Nothing in the
// file is executed or loaded.

import { EnoughText, FileFault, type TextWriter } from './file-text.ts'
import { pageText } from './pdf-page.ts'
import { encrypted } from './zip-file.ts'

const PAGES_MAX = 2_000
/** Letters missing from a font's map appear as these unreadable characters. */
const UNREADABLE = /[\p{Co}\p{Cc}\ufffd]/gu

/** Returns the number of pages. Takes seconds and much memory for hostile files. */
export async function readPdf(content: Uint8Array, writer: TextWriter): Promise<number> {
  // The library is loaded on demand, because loading takes 100 ms.
  const { getDocumentProxy } = await import('unpdf')
  const pdf = await getDocumentProxy(content, {
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
    verbosity: 0,
  }).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : ''
    throw name === 'PasswordException' ? encrypted() : damaged()
  })
  const { numPages } = pdf
  let failed = 0
  let unreadable = 0
  let letters = 0
  try {
    for (let number = 1; number <= Math.min(numPages, PAGES_MAX); number++) {
      let text: string
      try {
        const page = await pdf.getPage(number)
        text = await pageText(page)
        page.cleanup()
      } catch {
        failed += 1
        continue
      }
      const readable = text.replace(UNREADABLE, (letter) => (/\s/.test(letter) ? letter : ''))
      letters += text.length
      unreadable += text.length - readable.length
      writer.add(readable)
    }
    if (failed > 0 || numPages > PAGES_MAX) writer.leaveOut()
  } catch (error) {
    if (!(error instanceof EnoughText)) throw error
  } finally {
    await pdf.loadingTask.destroy()
  }
  if (failed > 0 && failed === Math.min(numPages, PAGES_MAX)) throw damaged()
  if (unreadable > letters / 2) {
    throw new FileFault('failed', 'Its fonts do not say which letters they show.')
  }
  return numPages
}

function damaged(): FileFault {
  return new FileFault('failed', 'It is damaged or incomplete.')
}
