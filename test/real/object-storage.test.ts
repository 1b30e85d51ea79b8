import { objectStorageConformance } from '../sources/object-storage-conformance.ts'
import { startVersitygw } from './servers/versitygw.ts'

objectStorageConformance(startVersitygw)
