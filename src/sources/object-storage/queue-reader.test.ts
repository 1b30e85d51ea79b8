import { queueConformance } from '../../../test/sources/queue-conformance.ts'
import { startSqsWorld } from '../../../test/sources/queue-worlds.ts'

queueConformance(startSqsWorld)
