export { releaseErasures } from './erasure-rows.ts'
