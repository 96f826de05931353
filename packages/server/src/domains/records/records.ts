export {
  type DnsRecord,
  dnsStartLog,
  domainDnsRecords,
  formatDnsTable,
  formatZone,
  serviceDnsRecords,
} from './dns-records.ts'
