import { azureConformance } from '../sources/object-storage-conformance.ts'
import { azureQueueConformance } from '../sources/queue-azure-conformance.ts'
import { startAzurite, startAzuriteWithQueues } from './servers/azurite.ts'

azureConformance(startAzurite)
azureQueueConformance(startAzuriteWithQueues)
