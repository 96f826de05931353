import { declaredKind } from '@mailroom/mail-reading/files/file-kind.ts'

/** Files whose name or type suggests that they contain text. */
export function isReadOnArrival(
  file: { filename: string; contentType: string },
  { readsImages }: { readsImages: boolean },
): boolean {
  const kind = declaredKind(file)
  return kind !== 'other' && (kind !== 'image' || readsImages)
}
