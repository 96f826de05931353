// The date of RFC 5322 §3.3 and its obsolete forms (§4.3) as milliseconds since the epoch.

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DATE_TIME =
  /(\d{1,2})[\s-]{1,4}([a-z]{3})[a-z]{0,6}\.?[\s-]{1,4}(\d{2,4})[\s,]{1,4}(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s{0,4}([+-])(\d{2}):?(\d{2})|\s{0,4}([a-z]{1,5}))?/i
/** RFC 5322 §4.3: any other name is to be taken for -0000. */
const ZONE_HOURS = new Map([
  ['EDT', -4],
  ['EST', -5],
  ['CDT', -5],
  ['CST', -6],
  ['MDT', -6],
  ['MST', -7],
  ['PDT', -7],
  ['PST', -8],
])
const FIELD_LENGTH_MAX = 200

/** Null when the field holds no date, or one that no calendar has. */
export function parseDateTime(field: string): number | null {
  const match = DATE_TIME.exec(field.slice(0, FIELD_LENGTH_MAX))
  if (match === null) return null
  const [, day, monthName = '', yearText = '', hour, minute, second, sign, zoneHour, zoneMinute] =
    match
  const month = MONTHS.indexOf(monthName.toLowerCase())
  if (month < 0) return null
  const fields = [fullYear(yearText), month, Number(day), Number(hour), Number(minute)] as const
  const utc = Date.UTC(...fields, Math.min(Number(second ?? 0), 59))
  const checked = new Date(utc)
  if (checked.getUTCDate() !== fields[2] || checked.getUTCHours() !== fields[3]) return null
  if (checked.getUTCMinutes() !== fields[4]) return null
  if (sign === undefined)
    return utc - (ZONE_HOURS.get(match[10]?.toUpperCase() ?? '') ?? 0) * 3_600_000
  const offsetMinutes = Number(zoneHour) * 60 + Number(zoneMinute)
  return utc - (sign === '-' ? -offsetMinutes : offsetMinutes) * 60_000
}

/** RFC 5322 §4.3: two digits below 50 are of this century, three digits count from 1900. */
function fullYear(text: string): number {
  const year = Number(text)
  if (text.length === 2) return year < 50 ? 2000 + year : 1900 + year
  return text.length === 3 ? 1900 + year : year
}
