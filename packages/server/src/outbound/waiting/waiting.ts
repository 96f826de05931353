export { editHeld, type HeldEdit } from './edit-held.ts'
export { approveHeld, sendWork } from './release-send.ts'
