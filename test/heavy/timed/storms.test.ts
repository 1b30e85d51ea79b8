// S6 and S7 in the size of a test run on two cores. The full sizes (10,000 guesses in a second, 2,000 slow connections) need a
// machine to themselves: `npm run chaos`.
import { guessStormDrill, slowStormDrill } from '../../../chaos/system/storms.ts'
import { testDrill } from '../../drill.ts'

testDrill(guessStormDrill)
testDrill(slowStormDrill)
