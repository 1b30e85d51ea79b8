import { startAzureBlobServer } from '../../../test/sources/azure-blob-server.ts'
import { azureConformance } from '../../../test/sources/object-storage-conformance.ts'

azureConformance(startAzureBlobServer)
