// R15 in the size of a test run. The full size, an hour, needs a machine to itself: `npm run chaos`.
import { soakDrill } from '../../../chaos/system/soak.ts'
import { testDrill } from '../../drill.ts'

testDrill(soakDrill)
