// Traces the steps of a message or request across processes.

/** Numbers, booleans and constants of the program; never an address, a subject or a secret. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

export type Span = {
  set(attributes: Attributes): void
  /** `kind` is a constant of the program, never a message from outside. */
  fail(kind: string): void
  /** A `traceparent` header (W3C Trace Context §3.2); '' if nothing is traced. */
  readonly traceParent: string
}

export type OpenSpan = Span & {
  /** Asynchronous continuations are within the span, too. */
  within<Value>(run: () => Value): Value
  end(): void
}

export type SpanOptions = {
  /** `server` handles a request, `client` makes one, `consumer` takes from a queue. */
  readonly kind?: 'server' | 'client' | 'consumer'
  readonly attributes?: Attributes
  /** Wall-clock time, for a span that began earlier. */
  readonly startMs?: number
}

export type ParentOptions = SpanOptions & {
  /** A traceparent; a malformed one is ignored. */
  readonly parent: string | null
}

export type Tracing = {
  readonly isOn: boolean
  open(name: string, options: ParentOptions): OpenSpan
  /** Like `open`, but ends the span after `work`. Rejects with the error of `work`. */
  begin<Value>(
    name: string,
    options: ParentOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** Continues a stored trace. Without one, `work` is not traced. */
  resume<Value>(
    name: string,
    options: ParentOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** Traces `work` as a step of the current span. Without one, `work` is not traced. */
  step<Value>(
    name: string,
    options: SpanOptions,
    work: (span: Span) => Promise<Value>,
  ): Promise<Value>
  /** Records a span from `startMs` until now. Returns its traceparent; null without a parent. */
  note(name: string, options: ParentOptions): string | null
  /** Sends remaining spans for at most TRACE_END_MS_MAX. Idempotent. */
  close(): Promise<void>
}

export const NO_SPAN: OpenSpan = {
  set: () => {},
  fail: () => {},
  traceParent: '',
  within: (run) => run(),
  end: () => {},
}

export const silentTracing: Tracing = {
  isOn: false,
  open: () => NO_SPAN,
  begin: (_name, _options, work) => work(NO_SPAN),
  resume: (_name, _options, work) => work(NO_SPAN),
  step: (_name, _options, work) => work(NO_SPAN),
  note: () => null,
  close: async () => {},
}

/** Traces calls of the methods in `steps`, with the size of byte arguments. */
export function traceMethods<Port extends object>(
  port: Port,
  tracing: Tracing,
  steps: { readonly [Name in keyof Port]?: string },
): Port {
  if (!tracing.isOn) return port
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      const step = steps[name as keyof Port]
      if (step === undefined) return method.bind(target)
      return (...args: unknown[]) => {
        const bytes = args.find((arg) => arg instanceof Uint8Array)
        const attributes: Attributes = bytes ? { 'mailroom.message.size': bytes.length } : {}
        return tracing.step(step, { attributes }, () => method.apply(target, args))
      }
    },
  })
}
