// R18, shortly: `npm run chaos` does the same for as long as one likes. A run that fails says which folder has its history, its log
// and its database. Files of such runs take their time more than the machine's: several run at once.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes while everything around them dies', ({ deliveries }) => {
  deliveries('kafka', { engine: 'old', troubles: 6, seed: 1 })
  deliveries('kafka', { engine: 'modern', troubles: 4, seed: 2 })
  deliveries('objects', { engine: 'old', troubles: 4, seed: 3 })
  deliveries('objects', { engine: 'modern', troubles: 3, seed: 4 })
  deliveries('objects once', { engine: 'old', troubles: 3, seed: 5 })
})
