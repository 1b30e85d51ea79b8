import { azureConformance } from '../sources/object-storage-conformance.ts'
import { startAzurite } from './servers/azurite.ts'

azureConformance(startAzurite)
