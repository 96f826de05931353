export { type Extractions, openExtractions } from './extractions.ts'
export { IMAGE_BYTES_MAX, openImageGetter } from './image-getter.ts'
export {
  CUT_READ_LENGTH,
  cutBodies,
  presentAttachments,
  presentListed,
  presentMessage,
  presentReading,
  presentRecipients,
  withParsedTexts,
} from './present-message.ts'
export { openImageFetches, showMessage } from './show-message.ts'
