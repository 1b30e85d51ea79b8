import { postgresConformance } from '../sources/postgres-conformance.ts'
import { startDebianPostgres } from './servers/postgres.ts'

postgresConformance(startDebianPostgres)
