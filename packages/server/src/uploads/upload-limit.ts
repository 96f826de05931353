import { errorCodes } from '@mailroom/contract/error-codes.ts'
import { fixOfLimit } from '#config/limit-fix.ts'
import { type AppError, problem } from '#platform/problem.ts'

export function uploadLimitReached(): AppError {
  return problem('upload_limit_reached', undefined, {
    fix: fixOfLimit('uploadedBytesPerAccount', errorCodes.upload_limit_reached.fix),
  })
}
