// What came of a report, in the words of the metrics.

/**
 * `bounced` and `complained` changed a delivery, `repeated` one that was settled so before. Nothing
 * changes where the return path is `forged`, `expired` or of an `unknown_message`, where the report
 * names an `unknown_recipient`, is `not_final`, or `ignored` for its kind or since it tells of an inbox
 * here; nor where it is of a delivery that is `deferred`, and one that is tried again is told of again.
 * A complaint is `unproven` that whoever only knows the Message-ID could have written, and left to
 * people. `too_early` is refused for now and told again.
 */
export type CountedReport =
  | 'bounced'
  | 'complained'
  | 'repeated'
  | 'forged'
  | 'expired'
  | 'unknown_message'
  | 'unknown_recipient'
  | 'not_final'
  | 'ignored'
  | 'deferred'
  | 'unproven'
  | 'too_early'
