export { watchQueues } from './figures.ts'
export {
  findObstacle,
  type Health,
  healthPath,
  type Life,
  openHealth,
  serviceHandlers,
} from './health.ts'
export { openServicePort, type ServicePort } from './service-port.ts'
export { type SchemaWatch, watchSchema } from './watch-schema.ts'
