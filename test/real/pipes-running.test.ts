// Short runs: R19, and updates of running pipes.
import { describePipeDrills } from './pipe-drills.ts'

describePipeDrills('pipes that run', ({ drill }) => {
  drill('R19: a process that resumes after its lease expired changes nothing', 'R19', {
    engine: 'old',
    faults: 2,
    seed: 6,
  })
  const changes = '15 updates of a busy pipe lose and duplicate no row, and an invalid one is reported'
  drill(changes, 'updates', { engine: 'modern', faults: 15, seed: 7 })
})
