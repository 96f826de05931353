export { type Carrier, openDelivery, readRelayUrl } from './carrier.ts'
export { openDeliveryQueue } from './delivery-queue.ts'
