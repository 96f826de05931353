export const LEASE_SECONDS_MAX = 3_600
