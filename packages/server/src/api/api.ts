export { type ConsolePort, openConsole } from './console.ts'
export type { RequestPorts } from './routes.ts'
export { type HttpServer, openHttpServer } from './server.ts'
export { readBodyOf } from './validation.ts'
