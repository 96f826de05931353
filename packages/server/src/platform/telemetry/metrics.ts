// Figures for the operator in the Prometheus text format. One object of named measurements, so that
// no other floor knows the library, a metric's name or its buckets.

export type Metrics = {
  /** `route` is the route's template, never the path itself: labels must stay few. */
  countHttpRequest(request: {
    method: string
    route: string
    status: number
    durationMs: number
  }): void
  /** What became of a message or command; `outcome` is a word of the program, `code` the reply's. */
  countSmtpOutcome(result: { outcome: string; code: number }): void
  /** What an attempt came to for one recipient, in the API's word. */
  countDelivery(status: string): void
  /** What became of a report about mail that was sent. */
  countReport(outcome: string): void
  /** A message or request that was refused because the store does not keep up. */
  countStoreRefusal(): void
  /** What an attempt to tell a webhook came to. */
  countWebhookDelivery(status: string): void
  /** One commit of the writer: how many transactions shared it and how long it took. */
  observeCommit(commit: { size: number; durationMs: number }): void
  /** One named transaction, from when it was asked for until it was on disk or refused. */
  observeWrite(durationMs: number): void
  /** One message, from its final dot to the reply. */
  observeReceive(durationMs: number): void
  observeParse(parse: { isInline: boolean; durationMs: number }): void
  /** Asked at every `render`; the latest reader of a name counts. One that fails is shown as NaN. */
  watch(gauge: GaugeName, read: () => GaugeValue | Promise<GaugeValue>): void
  render(): Promise<{ contentType: string; body: string }>
}

/** For a service whose operator reads no metrics: counts nothing, renders nothing. */
export const silentMetrics: Metrics = {
  countHttpRequest: () => {},
  countSmtpOutcome: () => {},
  countDelivery: () => {},
  countReport: () => {},
  countStoreRefusal: () => {},
  countWebhookDelivery: () => {},
  observeCommit: () => {},
  observeWrite: () => {},
  observeReceive: () => {},
  observeParse: () => {},
  watch: () => {},
  render: async () => ({ contentType: 'text/plain; charset=utf-8', body: '' }),
}

/**
 * Metrics with a registry of their own. The library takes some 20 ms to load, so it is loaded here
 * and not with the module. `includesProcess` adds memory, descriptors, event loop lag and garbage
 * collection; once for a process, because their observers stay until it ends.
 */
export async function openMetrics(options: { includesProcess: boolean }): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]
  if (options.includesProcess) collectDefaultMetrics({ register: registry })

  const httpRequests = new Counter({
    name: 'mailroom_http_requests_total',
    help: 'HTTP requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const httpSeconds = new Histogram({
    name: 'mailroom_http_request_duration_seconds',
    help: 'Time from the request line to the end of the response.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  })
  const smtpOutcomes = new Counter({
    name: 'mailroom_smtp_outcomes_total',
    help: 'Outcomes of SMTP commands and messages by reply code.',
    labelNames: ['outcome', 'code'],
    registers,
  })
  const deliveries = new Counter({
    name: 'mailroom_deliveries_total',
    help: 'Attempts to deliver to a recipient by what they came to.',
    labelNames: ['status'],
    registers,
  })
  const reports = new Counter({
    name: 'mailroom_reports_total',
    help: 'Reports about mail that was sent, by what they came to.',
    labelNames: ['outcome'],
    registers,
  })
  const storeRefusals = new Counter({
    name: 'mailroom_store_refusals_total',
    help: 'Messages and requests refused early because the store does not keep up.',
    registers,
  })
  const webhookDeliveries = new Counter({
    name: 'mailroom_webhook_deliveries_total',
    help: 'Attempts to tell a webhook of an event by what they came to.',
    labelNames: ['status'],
    registers,
  })
  const commitSizes = new Histogram({
    name: 'mailroom_commit_group_size',
    help: 'Transactions that shared one commit.',
    buckets: SIZES,
    registers,
  })
  const commitSeconds = new Histogram({
    name: 'mailroom_commit_duration_seconds',
    help: 'Time of one commit with everything in it.',
    buckets: SECONDS,
    registers,
  })
  const writeSeconds = new Histogram({
    name: 'mailroom_write_duration_seconds',
    help: 'Time of one transaction, with its wait for a turn and a connection.',
    buckets: SECONDS,
    registers,
  })
  const receiveSeconds = new Histogram({
    name: 'mailroom_smtp_message_duration_seconds',
    help: 'Time from the final dot of a message to the reply.',
    buckets: SECONDS,
    registers,
  })
  const parseSeconds = new Histogram({
    name: 'mailroom_parse_duration_seconds',
    help: 'Time to parse one message, on the main thread or in a worker.',
    labelNames: ['thread'],
    buckets: SECONDS,
    registers,
  })
  const readers = new Map<GaugeName, GaugeReader>()
  for (const [key, figure] of Object.entries(GAUGES)) {
    const { name, help } = figure
    const label = 'label' in figure ? figure.label : null
    new Gauge({
      name,
      help,
      registers,
      labelNames: label === null ? [] : [label],
      async collect() {
        const value = await readGauge(readers.get(key as GaugeName))
        this.reset()
        if (typeof value === 'number') {
          if (label === null) this.set(value)
          return
        }
        for (const [word, one] of Object.entries(value)) this.set({ [label ?? '']: word }, one)
      },
    })
  }

  return {
    countHttpRequest({ method, route, status, durationMs }) {
      const known = METHODS.has(method) ? method : 'other'
      httpRequests.inc({ method: known, route, status })
      httpSeconds.observe({ method: known, route }, durationMs / 1000)
    },
    countSmtpOutcome: ({ outcome, code }) => smtpOutcomes.inc({ outcome, code }),
    countDelivery: (status) => deliveries.inc({ status }),
    countReport: (outcome) => reports.inc({ outcome }),
    countStoreRefusal: () => storeRefusals.inc(),
    countWebhookDelivery: (status) => webhookDeliveries.inc({ status }),
    observeCommit({ size, durationMs }) {
      commitSizes.observe(size)
      commitSeconds.observe(durationMs / 1000)
    },
    observeWrite: (durationMs) => writeSeconds.observe(durationMs / 1000),
    observeReceive: (durationMs) => receiveSeconds.observe(durationMs / 1000),
    observeParse({ isInline, durationMs }) {
      parseSeconds.observe({ thread: isInline ? 'main' : 'worker' }, durationMs / 1000)
    },
    watch: (gauge, read) => void readers.set(gauge, read),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

type GaugeReader = () => GaugeValue | Promise<GaugeValue>

/** The others are what an operator looks at while the one that is read from is away. */
async function readGauge(read: GaugeReader | undefined): Promise<GaugeValue> {
  try {
    return (await read?.()) ?? 0
  } catch {
    return Number.NaN
  }
}

/** From a cached read to the limits on time of a request and of a parse. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const SIZES = [1, 2, 5, 10, 20, 50, 100]
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

const GAUGES = {
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
type GaugeValue = number | Readonly<Record<string, number>>
