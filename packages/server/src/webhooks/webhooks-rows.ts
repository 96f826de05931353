export {
  dropWebhookDeliveries,
  purgeDeliveriesOfEvents,
  purgeWebhookDeliveries,
  purgeWebhookStep,
  retryWebhookDelivery,
} from './webhook-delivery-rows.ts'
export {
  addWebhookDeliveries,
  addWebhookTest,
  settleWebhookDelivery,
  webhookQueue,
} from './webhook-queue-rows.ts'
export {
  changeWebhook,
  findOwnWebhook,
  insertWebhook,
  insertWebhookRow,
  removeWebhook,
  replaceWebhookSecrets,
} from './webhook-rows.ts'
