// R1: no acknowledged write is lost through kill -9, none is half done, and no change is without its activity. `npm run chaos` does
// more of it.
import { killDrill } from '../../../chaos/system/kills.ts'
import { testDrill } from '../../drill.ts'

testDrill(killDrill)
