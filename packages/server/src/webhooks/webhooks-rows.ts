export {
  purgeDeliveriesOfEvents,
  purgeWebhookDeliveries,
  purgeWebhookStep,
} from './webhook-delivery-rows.ts'
export { webhookQueue } from './webhook-queue-rows.ts'
export { changeWebhook, findOwnWebhook, insertWebhookRow, removeWebhook } from './webhook-rows.ts'
