// S6 and S7 with the size of a test run on two cores. The full sizes (10,000 guesses per second, 2,000 slow connections) need an
// idle machine: `npm run chaos`.
import { guessStormDrill, slowStormDrill } from '../../../chaos/system/storms.ts'
import { testDrill } from '../../harness/drill.ts'

testDrill(guessStormDrill)
testDrill(slowStormDrill)
