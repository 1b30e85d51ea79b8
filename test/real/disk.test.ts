// R4: failing disks.
import { diskFailures } from '../../chaos/system/disk-failures.ts'
import { testDrill } from '../harness/drill.ts'

testDrill(diskFailures)
