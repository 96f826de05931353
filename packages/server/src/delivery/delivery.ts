export { type Carrier, openDelivery, readRelayUrl } from './carrier.ts'
export { openDeliveryQueue } from './deliver.ts'
