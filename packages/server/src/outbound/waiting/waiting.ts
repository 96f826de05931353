export { approveHeld, sendWork } from './release-send.ts'
