import { startObjectServer } from '../../test/sources/object-server.ts'
import { objectStorageConformance } from '../../test/sources/object-storage-conformance.ts'

objectStorageConformance(() => startObjectServer())
