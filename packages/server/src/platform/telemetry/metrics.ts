export type Metrics = {
  /** `route` is the route's template, never the path, because labels must have few values. */
  countHttpRequest(request: {
    method: string
    route: string
    status: number
    durationMs: number
  }): void
  /** `outcome` is a constant of the program, `code` the reply's. */
  countSmtpOutcome(result: { outcome: string; code: number }): void
  countDelivery(status: string): void
  countReport(outcome: string): void
  countStoreRefusal(): void
  countWebhookDelivery(status: string): void
  observeCommit(commit: { size: number; durationMs: number }): void
  /** The time from the call of a transaction until it is on disk or refused. */
  observeWrite(durationMs: number): void
  /** The time from the final dot of a message to the reply. */
  observeReceive(durationMs: number): void
  observeParse(parse: { thread: 'main' | 'intake' | 'worker'; durationMs: number }): void
  /** A later reader of a gauge replaces an earlier one; a reader that fails gives NaN. */
  watch(gauge: GaugeName, read: () => GaugeValue | Promise<GaugeValue>): void
  render(): Promise<{ contentType: string; body: string }>
}

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

type CountName = Exclude<keyof Metrics, 'watch' | 'render'>

/** A call of a metric in another thread, to be repeated here. */
export type MetricCall = readonly [name: CountName, value: unknown]

/** Metrics for a thread that passes its calls to the thread that renders them. */
export function recordMetrics(record: (call: MetricCall) => void): Metrics {
  const { watch, render, ...counts } = silentMetrics
  const names = Object.keys(counts) as CountName[]
  const recorded = names.map((name) => [name, (value?: unknown) => record([name, value])])
  return { ...silentMetrics, ...Object.fromEntries(recorded) }
}

export function repeatCalls(metrics: Metrics, calls: readonly MetricCall[]): void {
  for (const [name, value] of calls) metrics[name](value as never)
}

/** Set `includesProcess` once per process, because its observers are never removed. */
export async function openMetrics(options: { includesProcess: boolean }): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]
  if (options.includesProcess) collectDefaultMetrics({ register: registry })

  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `mailroom_${name}_total`, help, labelNames, registers })
  const histogram = (
    name: string,
    help: string,
    { labelNames = [], buckets = SECONDS }: { labelNames?: string[]; buckets?: number[] } = {},
  ) => new Histogram({ name: `mailroom_${name}`, help, labelNames, buckets, registers })

  const httpRequests = counter('http_requests', 'HTTP requests answered.', [
    'method',
    'route',
    'status',
  ])
  const smtpOutcomes = counter(
    'smtp_outcomes',
    'Outcomes of SMTP commands and messages by reply code.',
    ['outcome', 'code'],
  )
  const deliveries = counter(
    'deliveries',
    'Attempts to deliver to a recipient, by the status that they led to.',
    ['status'],
  )
  const reports = counter('reports', 'Reports about mail that was sent, by outcome.', ['outcome'])
  const storeRefusals = counter(
    'store_refusals',
    'Messages and requests refused early because the store does not keep up.',
  )
  const webhookDeliveries = counter(
    'webhook_deliveries',
    'Attempts to notify a webhook of an event, by the status that they led to.',
    ['status'],
  )
  const httpSeconds = histogram(
    'http_request_duration_seconds',
    'Time from the request line to the end of the response.',
    { labelNames: ['method', 'route'] },
  )
  const commitSizes = histogram('commit_group_size', 'Transactions that shared one commit.', {
    buckets: SIZES,
  })
  const commitSeconds = histogram(
    'commit_duration_seconds',
    'Time of one commit with everything in it.',
  )
  const writeSeconds = histogram(
    'write_duration_seconds',
    'Time of one transaction, including its wait for a slot and a connection.',
  )
  const receiveSeconds = histogram(
    'smtp_message_duration_seconds',
    'Time from the final dot of a message to the reply.',
  )
  const parseSeconds = histogram(
    'parse_duration_seconds',
    'Time to parse one message: in the main thread, in one that receives mail (intake), or in a worker.',
    { labelNames: ['thread'] },
  )
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
    observeParse: ({ thread, durationMs }) => parseSeconds.observe({ thread }, durationMs / 1000),
    watch: (gauge, read) => void readers.set(gauge, read),
    render: async () => ({
      contentType: registry.contentType,
      body: await registry.metrics(),
    }),
  }
}

type GaugeReader = () => GaugeValue | Promise<GaugeValue>

/** NaN keeps the other gauges readable while the source of this one is down. */
async function readGauge(read: GaugeReader | undefined): Promise<GaugeValue> {
  try {
    return (await read?.()) ?? 0
  } catch {
    return Number.NaN
  }
}

/** Buckets from a cached read up to the time limits of a request and of a parse. */
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
    help: '1 while writes wait for long or fail, and less work is accepted.',
  },
  intakeBytes: {
    name: 'mailroom_smtp_held_bytes',
    help: 'Octets of messages that are being received or stored.',
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
    help: 'Deliveries that a process is attempting or about to attempt.',
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
    help: 'Deliveries of webhooks that a process is attempting or about to attempt.',
  },
  webhookAttempts: {
    name: 'mailroom_webhook_attempts',
    help: 'Posts to webhooks under way in this process.',
  },
  eventSockets: {
    name: 'mailroom_event_sockets',
    help: 'Clients of this process that receive events over a WebSocket.',
  },
  eventStreams: {
    name: 'mailroom_event_streams',
    help: 'Clients of this process that receive server-sent events.',
  },
  eventWaits: {
    name: 'mailroom_event_waits',
    help: 'Requests to this process that wait for a message.',
  },
  eventCatchUpsWaiting: {
    name: 'mailroom_event_catch_ups_waiting',
    help: 'Readers that have fallen behind and wait to read the log of events.',
  },
  eventLogLag: {
    name: 'mailroom_event_log_lag_seconds',
    help: 'Age of the oldest event that cannot be sent yet because an older transaction is open.',
  },
  deliveriesDueAge: {
    name: 'mailroom_deliveries_oldest_due_seconds',
    help: 'How long the longest due delivery has waited.',
  },
  webhookDeliveriesDueAge: {
    name: 'mailroom_webhook_deliveries_oldest_due_seconds',
    help: 'How long the longest due delivery of a webhook has waited.',
  },
  jobsDueAge: {
    name: 'mailroom_jobs_oldest_due_seconds',
    help: 'How long the longest due job has waited.',
  },
  jobsLeased: { name: 'mailroom_jobs_leased', help: 'Jobs that a process is running.' },
  exports: { name: 'mailroom_exports_unfinished', help: 'Unfinished exports.', label: 'state' },
  imports: {
    name: 'mailroom_imports_unfinished',
    help: 'Unfinished imports, also those whose file arrives.',
    label: 'state',
  },
  erasures: { name: 'mailroom_erasures_unfinished', help: 'Unfinished erasures.', label: 'state' },
  retentionDue: {
    name: 'mailroom_retention_due',
    help: 'Inboxes past their time, and threads past theirs in the trash.',
    label: 'kind',
  },
  workAge: {
    name: 'mailroom_work_oldest_seconds',
    help: 'Age of the oldest unfinished export, import or erasure, and how long retention is overdue.',
    label: 'work',
  },
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
    help: 'How long the longest due check of a custom domain has waited.',
  },
  mailHoursLag: {
    name: 'mailroom_mail_hours_lag_seconds',
    help: 'Age of the oldest event that the hourly figures do not count yet.',
  },
  inboxDaysLag: {
    name: 'mailroom_inbox_days_lag_seconds',
    help: 'Age of the oldest event that the daily figures of inboxes do not count yet.',
  },
  searchInboxesWaiting: {
    name: 'mailroom_search_inboxes_waiting',
    help: 'Inboxes with messages that this process has yet to index.',
  },
  searchLag: {
    name: 'mailroom_search_lag_seconds',
    help: 'How long the longest waiting inbox has waited to be indexed by this process.',
  },
  periodicTasks: {
    name: 'mailroom_duties_held',
    help: 'Periodic tasks that this process leads for all processes on the database.',
    label: 'duty',
  },
  databaseConnections: {
    name: 'mailroom_database_connections',
    help: 'Connections of this process to PostgreSQL, and callers that wait for one.',
    label: 'state',
  },
} as const satisfies Record<string, { name: string; help: string; label?: string }>

export type GaugeName = keyof typeof GAUGES

/** One value, or one per label value. Label values are constants of the program. */
export type GaugeValue = number | Readonly<Record<string, number>>
