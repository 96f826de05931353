// Traces: which steps one message or request went through, in which processes, and how long each took.
// A port for the other floors; what stands behind it is loaded only where a collector is named.

/** Numbers, truth values and words of the program; never an address, a subject or a secret. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

export type Span = {
  set(attributes: Attributes): void
  /** Its work failed; `kind` is a word of the program, never a message from outside. */
  fail(kind: string): void
  /** As the header `traceparent` has it (W3C Trace Context §3.2); '' where nothing is traced. */
  readonly traceParent: string
}

/** One that its opener ends. */
export type OpenSpan = Span & {
  /** Calls `run`, and whatever follows from it, within the span. */
  within<Value>(run: () => Value): Value
  /** The second time does nothing. */
  end(): void
}

export type SpanOptions = {
  /** `server` answers somebody, `client` asks somebody, `consumer` takes from a queue. */
  readonly kind?: 'server' | 'client' | 'consumer'
  readonly attributes?: Attributes
  /** Wall clock, where it began before it is told. */
  readonly startMs?: number
}

export type ParentOptions = SpanOptions & {
  /** A traceparent; what is none of this form counts as none. */
  readonly parent: string | null
}

export type Tracing = {
  /** Whether anything is traced at all. */
  readonly isOn: boolean
  /** Begins a trace, or goes on with the caller's. */
  open(name: string, options: ParentOptions): OpenSpan
  /** The same around `work`; what it rejects with is passed on. */
  begin<Value>(
    name: string,
    options: ParentOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** Goes on with a trace that was kept; without one `work` is not traced. */
  resume<Value>(
    name: string,
    options: ParentOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** A step of what is being traced; of what is not, `work` alone. */
  step<Value>(
    name: string,
    options: SpanOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** Notes what began at `startMs` and ends now; where the trace goes on, or null for none. */
  note(name: string, options: ParentOptions): string | null
  /** Sends what is left, for as long as TRACE_END_MS_MAX. Idempotent. */
  close(): Promise<void>
}

const NO_SPAN: OpenSpan = {
  set: () => {},
  fail: () => {},
  traceParent: '',
  within: (run) => run(),
  end: () => {},
}

/** For a service whose operator collects no traces: costs a call. */
export const silentTracing: Tracing = {
  isOn: false,
  open: () => NO_SPAN,
  begin: (_name, _options, work) => work(NO_SPAN),
  resume: (_name, _options, work) => work(NO_SPAN),
  step: (_name, _options, work) => work(NO_SPAN),
  note: () => null,
  close: async () => {},
}
