import { describeNamedSlots } from '../runner-world/named-slots.ts'
import { startDebianPostgres } from './servers/postgres.ts'

describeNamedSlots('the PostgreSQL of Debian', startDebianPostgres)
