/** Timing that a noisy machine cannot fool easily: many short rounds, the contenders in turn within each. */

/** The least, the middle and the largest of some figures. */
export function spread(figures) {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (part) => sorted[Math.floor(((sorted.length - 1) * part) / 2)]
  return { min: at(0), median: at(1), max: at(2) }
}

/**
 * Microseconds per operation of two contenders, taken in turns, and their ratio round by round.
 * Each contender does its work and says how many operations that was.
 */
export async function duel({ name, target = null, rounds = 21, peer, ours, theirs }) {
  const ourTimes = []
  const theirTimes = []
  for (let round = -2; round < rounds; round++) {
    const ourTime = await time(ours)
    const theirTime = await time(theirs)
    // The first rounds compile and warm up, and are not counted.
    if (round < 0) continue
    ourTimes.push(ourTime)
    theirTimes.push(theirTime)
  }
  const ratios = ourTimes.map((time, round) => time / theirTimes[round])
  return {
    name,
    unit: 'us',
    tidegate: spread(ourTimes),
    peer: { name: peer, figures: spread(theirTimes), ratio: spread(ratios) },
    target,
  }
}

/** `prepare`, where there is one, is not timed. */
async function time({ prepare, run }) {
  const prepared = prepare?.()
  const start = performance.now()
  const operations = await run(prepared)
  return ((performance.now() - start) * 1000) / operations
}

/** The rows as JSON, figures to the nanosecond. */
export function json(rows) {
  return JSON.stringify({ suite: 'node', rows }, (_, value) =>
    typeof value === 'number' ? Math.round(value * 1000) / 1000 : value,
  )
}
