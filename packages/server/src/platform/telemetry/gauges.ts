// The figures that are read when somebody looks: what each is called and means. Who reads them is said
// where the parts are joined.

export const GAUGES = {
  smtpConnections: { name: 'mailroom_smtp_connections', help: 'Open SMTP connections.' },
  writeQueue: { name: 'mailroom_write_queue_length', help: 'Transactions waiting for the writer.' },
  oldestWrite: {
    name: 'mailroom_write_oldest_seconds',
    help: 'How long the oldest transaction that is not done yet has waited.',
  },
  storeStrained: {
    name: 'mailroom_store_strained',
    help: '1 while writes wait for long or fail, and doors take on less.',
  },
  intakeBytes: {
    name: 'mailroom_smtp_held_bytes',
    help: 'Octets of messages that come in or are being stored.',
  },
  parseQueue: { name: 'mailroom_parse_queue_length', help: 'Messages waiting for a parse worker.' },
  jobsWaiting: { name: 'mailroom_jobs_waiting', help: 'Jobs that are due and not yet taken.' },
  deliveriesReady: {
    name: 'mailroom_deliveries_ready',
    help: 'Deliveries that are due and not yet taken.',
  },
  deliveriesWaiting: {
    name: 'mailroom_deliveries_waiting',
    help: 'Deliveries that wait for their next attempt.',
  },
  deliveriesLeased: {
    name: 'mailroom_deliveries_leased',
    help: 'Deliveries that a process is about to attempt or attempting.',
  },
  transactionsOut: {
    name: 'mailroom_smtp_transactions_out',
    help: 'Outgoing attempts under way in this process.',
  },
  webhookDeliveriesReady: {
    name: 'mailroom_webhook_deliveries_ready',
    help: 'Deliveries of webhooks that are due and not yet taken.',
  },
  webhookDeliveriesWaiting: {
    name: 'mailroom_webhook_deliveries_waiting',
    help: 'Deliveries of webhooks that wait for their next attempt.',
  },
  webhookDeliveriesLeased: {
    name: 'mailroom_webhook_deliveries_leased',
    help: 'Deliveries of webhooks that a process is about to attempt or attempting.',
  },
  webhookAttempts: {
    name: 'mailroom_webhook_attempts',
    help: 'Posts to webhooks under way in this process.',
  },
  eventSockets: {
    name: 'mailroom_event_sockets',
    help: 'Clients of this process that are told of events over a WebSocket.',
  },
  eventStreams: {
    name: 'mailroom_event_streams',
    help: 'Clients of this process that are told of events by server-sent events.',
  },
  eventWaits: {
    name: 'mailroom_event_waits',
    help: 'Requests to this process that wait for a message.',
  },
  eventCatchUpsWaiting: {
    name: 'mailroom_event_catch_ups_waiting',
    help: 'Readers that have fallen behind and wait for their turn to read the log of events.',
  },
  eventLogLag: {
    name: 'mailroom_event_log_lag_seconds',
    help: 'Age of the oldest event that cannot be told yet, for an older transaction is open.',
  },
  deliveriesDueAge: {
    name: 'mailroom_deliveries_oldest_due_seconds',
    help: 'How long the delivery has waited that is due for the longest time.',
  },
  webhookDeliveriesDueAge: {
    name: 'mailroom_webhook_deliveries_oldest_due_seconds',
    help: 'How long the delivery of a webhook has waited that is due for the longest time.',
  },
  jobsDueAge: {
    name: 'mailroom_jobs_oldest_due_seconds',
    help: 'How long the job has waited that is due for the longest time.',
  },
  jobsLeased: { name: 'mailroom_jobs_leased', help: 'Jobs that a process is doing.' },
  fanOutEvents: {
    name: 'mailroom_event_fan_out_waiting',
    help: 'Events that have not been read for webhooks.',
  },
  fanOutLag: {
    name: 'mailroom_event_fan_out_lag_seconds',
    help: 'Age of the oldest event that has not been read for webhooks.',
  },
  domainChecksDue: {
    name: 'mailroom_domain_checks_due',
    help: 'Custom domains whose check is due.',
  },
  domainChecksDueAge: {
    name: 'mailroom_domain_checks_oldest_due_seconds',
    help: 'How long the check of a custom domain has waited that is due for the longest time.',
  },
  mailHoursLag: {
    name: 'mailroom_mail_hours_lag_seconds',
    help: 'Age of the oldest event that the hourly figures do not count yet.',
  },
  searchInboxesWaiting: {
    name: 'mailroom_search_inboxes_waiting',
    help: 'Inboxes that this process has yet to index messages of.',
  },
  searchLag: {
    name: 'mailroom_search_lag_seconds',
    help: 'How long the inbox has waited that this process has yet to index for the longest time.',
  },
  duties: {
    name: 'mailroom_duties_held',
    help: 'Periodic work that this process does for all that share the database.',
    label: 'duty',
  },
  databaseConnections: {
    name: 'mailroom_database_connections',
    help: 'Connections of this process to PostgreSQL, and who waits for one.',
    label: 'state',
  },
} as const satisfies Record<string, { name: string; help: string; label?: string }>

export type GaugeName = keyof typeof GAUGES

/** Of a gauge with a label, a figure for each of its values, which are words of the program. */
export type GaugeValue = number | Readonly<Record<string, number>>
