import { azureQueueConformance } from '../../../test/sources/queue-azure-conformance.ts'
import { startAzureWithQueues } from '../../../test/sources/queue-azure-server.ts'

azureQueueConformance(startAzureWithQueues)
