export { uploadHandlers } from './handlers.ts'
export { readGivenFiles } from './read-given-files.ts'
export { purgeUploads, uploadWork } from './work-uploads.ts'
