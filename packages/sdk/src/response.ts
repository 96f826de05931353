// The result of a request: a promise of its content that also has the response.

/** The parts of an HTTP response besides its content. */
export type ResponseInfo = {
  readonly status: number
  /** `RateLimit-Remaining`, `Idempotency-Replayed`, `ETag` and others. */
  readonly headers: Headers
  /** The request's id in the log of the service; null if a gateway responded. */
  readonly requestId: string | null
}

export type WithResponse<Data> = { readonly data: Data; readonly response: ResponseInfo }

/** `await` gives the content; `await … .withResponse()` gives `{ data, response }`. */
export class ResponsePromise<Data> extends Promise<Data> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  readonly #whole: Promise<WithResponse<Data>>

  constructor(whole: Promise<WithResponse<Data>>) {
    super((resolve, reject) => {
      whole.then(({ data }) => resolve(data), reject)
    })
    this.#whole = whole
  }

  withResponse(): Promise<WithResponse<Data>> {
    // A failure is reported through the result alone.
    this.catch(() => {})
    return this.#whole
  }
}
