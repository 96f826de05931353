// The part of s3rver that we use; the package ships no types.

declare module '@20minutes/s3rver' {
  import type { RequestListener } from 'node:http'

  class S3rver {
    constructor(options: {
      silent: boolean
      directory: string
      vhostBuckets: boolean
      allowMismatchedSignatures?: boolean
      configureBuckets: { name: string }[]
    })
    readonly logger: { close(): void }
    configureBuckets(): Promise<void>
    callback(): RequestListener
  }
  export = S3rver
}
