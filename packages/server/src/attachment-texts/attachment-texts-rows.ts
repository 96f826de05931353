export { isReadOnArrival } from './read-on-arrival.ts'

import './attachment-text-rows.ts'
