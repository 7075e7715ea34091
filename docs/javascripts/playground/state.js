// The state of the page, and how a link holds it.

;(() => {
  /** Requests are painted into so many columns, at most so many in one. */
  const [COLUMNS, MOST] = [60, 8]
  const NAMES = ['ada', 'bob', 'cleo']
  const SPANS = [10, 20, 30, 60, 300, 3600, 86_400, 604_800].map((seconds) => seconds * 1000)
  /** The first instant of the time line: Monday, 1 January 2024, 00:00 UTC. */
  const BEGIN = Date.UTC(2024, 0, 1)

  const empty = () => new Array(COLUMNS).fill(0)

  /** Ways to fill a client's line; `amount` is from 1 to 8. */
  const PATTERNS = {
    Steady: (column, amount) => (Math.floor(((column + 1) * amount) / 8) > Math.floor((column * amount) / 8) ? 1 : 0),
    Burst: (column, amount) => (column >= 12 && column < 14 ? amount : 0),
    Bursts: (column, amount) => (column % 15 === 3 ? amount : 0),
    Ramp: (column, amount) => Math.round(((column / COLUMNS) ** 2 * amount) / 1.5),
    // The same each time, so that a link shows what its sender saw.
    Random: (column, amount) => {
      const noise = Math.sin((column + 1) * 12.9898 + amount * 78.233) * 43_758.5453
      return Math.max(0, Math.floor((noise - Math.floor(noise)) * (amount + 3)) - 3)
    },
  }

  function beginning() {
    const ada = empty().map((_, column) =>
      column < 2 ? 4 : column >= 30 && column < 34 ? 4 : column % 5 === 0 ? 1 : 0,
    )
    return {
      span: 20_000,
      limits: ['10/10s burst 4', '10/10s sliding-log'],
      clients: [{ name: NAMES[0], counts: ada }],
    }
  }

  /** The state as what stands behind the `#` of a link. */
  function written({ span, limits, clients, chosen }) {
    const words = new URLSearchParams({ span: String(span / 1000) })
    for (const limit of limits) words.append('limit', limit)
    for (const { name, counts } of clients) words.append(name, counts.join('').replace(/0+$/, ''))
    if (chosen) words.append('chosen', [chosen.name, chosen.column, chosen.row].join('.'))
    return words.toString()
  }

  /** The state that a link holds; what it leaves out or has wrong is as at the beginning. */
  function read(text) {
    const [words, state] = [new URLSearchParams(text), beginning()]
    const span = Number(words.get('span')) * 1000
    if (SPANS.includes(span)) state.span = span
    const limits = words.getAll('limit').slice(0, 2)
    if (limits.length) state.limits = limits
    const clients = NAMES.filter((name) => words.has(name)).map((name) => {
      const counts = [...words.get(name)].map((digit) => Math.min(Number(digit) || 0, MOST))
      return { name, counts: [...counts, ...empty()].slice(0, COLUMNS) }
    })
    if (clients.length) state.clients = clients
    const [name, column, row] = (words.get('chosen') ?? '').split('.')
    if (name) state.chosen = { name, column: Number(column), row: Number(row) }
    return state
  }

  /** Every request, in the order of time. */
  function requests({ span, clients }) {
    const all = clients.flatMap(({ name, counts }) =>
      counts.flatMap((count, column) =>
        Array.from({ length: count }, (_, row) => ({
          name,
          column,
          row,
          at: Math.round((span / COLUMNS) * (column + row / (2 * MOST))),
        })),
      ),
    )
    return all.sort((one, other) => one.at - other.at)
  }

  /** Asks the engine about a limit: each request with its result, and the level of each client over time. */
  function simulate(engine, state, text) {
    const [asked, samples] = [requests(state), 4 * COLUMNS]
    const steps = asked.map((request) => ({ ...request, call: 'limit' }))
    for (const { name } of state.clients) {
      for (let sample = 0; sample <= samples; sample++) {
        steps.push({ name, at: Math.round((state.span * sample) / samples), call: 'peek' })
      }
    }
    // A request comes before a look at the same instant.
    steps.sort((one, other) => one.at - other.at || one.call.localeCompare(other.call))
    const reply = engine({
      key: 'api',
      limits: [playground.definition(text)],
      steps: steps.map(({ name, at, call }) => ({ actor: name, now: BEGIN + at, call })),
    })
    if (reply.error) return reply
    const results = steps.map((step, index) => ({ ...step, ...reply.results[index] }))
    const [limit, words] = [reply.limits[0], reply.words[0]]
    return { limit, words, requests: results.filter(({ call }) => call === 'limit'), levels: results }
  }

  Object.assign(playground, { COLUMNS, MOST, NAMES, SPANS, PATTERNS, empty, written, read, simulate })
})()
