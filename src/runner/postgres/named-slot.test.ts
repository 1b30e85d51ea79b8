import { describeNamedSlots } from '../../../test/runner-world/named-slots.ts'
import { startEmbedded } from '../../../test/sources/postgres-embedded.ts'

describeNamedSlots('the PostgreSQL of npm', startEmbedded)
