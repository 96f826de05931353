import { declaredKind } from '@mailroom/mail-reading/files/file-kind.ts'

export function isReadOnArrival(
  file: { filename: string; contentType: string },
  { readsImages }: { readsImages: boolean },
): boolean {
  const kind = declaredKind(file)
  return kind !== 'other' && (kind !== 'image' || readsImages)
}
