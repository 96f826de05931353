export { type CountedReport, findAtReturnPath } from './find-reported.ts'
