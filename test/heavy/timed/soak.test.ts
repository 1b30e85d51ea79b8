// R15 with the size of a test run. The full size, an hour, needs an idle machine: `npm run chaos`.
import { soakDrill } from '../../../chaos/system/soak.ts'
import { testDrill } from '../../harness/drill.ts'

testDrill(soakDrill)
