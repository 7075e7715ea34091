// Types of limits, their fields, and a limit as text.

;(() => {
  const SECOND = 1000
  const [MINUTE, HOUR, DAY] = [60 * SECOND, 3600 * SECOND, 86_400 * SECOND]
  const UNITS = [
    ['d', DAY],
    ['h', HOUR],
    ['m', MINUTE],
    ['s', SECOND],
    ['ms', 1],
  ]

  const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 200, 500, 1000]
  const SECONDS = [
    0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600,
    43_200, 86_400,
  ]
  const TIMES = SECONDS.map((seconds) => seconds * SECOND)
  const count = (name, label) => ({ name, label, steps: COUNTS })
  const time = (name, label) => ({ name, label, steps: TIMES, shown: (ms) => duration(ms) })
  const orNone = (name, label) => ({ name, label, steps: [0, ...TIMES], shown: (ms) => (ms ? duration(ms) : 'none') })
  const flag = (name, label) => ({ name, label, flag: true })
  const choice = (name, label, choices) => ({ name, label, choices })
  const BLOCKED = flag('countBlocked', 'Count denied requests')

  /** The fields of each type as the page offers them, and a limit to begin with. */
  const TYPES = {
    bucket: {
      fields: [count('size', 'Size'), time('dripRate', 'Drips every'), count('dripSize', 'Units in a drip')],
      first: { size: 8, dripRate: 1000, dripSize: 1 },
    },
    'token-bucket': {
      fields: [count('count', 'Count'), time('period', 'per'), count('burst', 'Burst')],
      first: { count: 10, period: 10_000, burst: 4 },
    },
    'fixed-window': {
      fields: [
        count('max', 'Max'),
        time('period', 'per'),
        choice('anchor', 'Windows begin', { epoch: 'on the clock', 'first-request': 'with a request' }),
      ],
      first: { max: 10, period: 5000 },
    },
    'sliding-window': {
      fields: [count('max', 'Max'), time('period', 'per'), time('resolution', 'Slots of'), BLOCKED],
      first: { max: 10, period: 5000, resolution: 500 },
    },
    'sliding-counter': { fields: [count('max', 'Max'), time('period', 'per')], first: { max: 10, period: 5000 } },
    'sliding-log': {
      fields: [count('max', 'Max'), time('period', 'per'), orNone('minInterval', 'Pause between'), BLOCKED],
      first: { max: 10, period: 5000 },
    },
    decay: {
      fields: [
        count('max', 'Max'),
        { name: 'decayFactor', label: 'Divided by', steps: [1.1, 1.25, 1.5, 2, 3, 4, 5, 10] },
        time('resolution', 'every'),
        BLOCKED,
      ],
      first: { max: 10, decayFactor: 2, resolution: 2000 },
    },
    smooth: {
      fields: [
        { name: 'rate', label: 'Per second', steps: [0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 8, 10, 20, 50, 100] },
        orNone('maxBurst', 'Saved up'),
        orNone('warmup', 'Warm-up'),
        { name: 'coldFactor', label: 'Slower while cold', steps: [1, 1.5, 2, 3, 4, 5, 10] },
      ],
      first: { rate: 2, maxBurst: 2000 },
    },
    'calendar-window': {
      fields: [
        count('max', 'Max'),
        choice('unit', 'per', { day: 'day', week: 'week', month: 'month', year: 'year' }),
        choice(
          'timeZone',
          'Time zone',
          Object.fromEntries(
            ['UTC', 'America/New_York', 'America/Sao_Paulo', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Tokyo'].map(
              (zone) => [zone, zone],
            ),
          ),
        ),
      ],
      first: { max: 20, unit: 'day' },
    },
    concurrency: {
      fields: [count('max', 'At most, at once'), time('lease', 'Each for')],
      first: { max: 4, lease: 3000 },
    },
  }
  for (const type of Object.values(TYPES)) type.fields.push(orNone('blockFor', 'Block after denial'))

  /** A number of milliseconds for people. */
  function duration(ms) {
    const [unit, length] = UNITS.find(([, length]) => ms >= length) ?? UNITS[4]
    return `${Number((ms / length).toFixed(2))} ${unit === 'm' ? 'min' : unit}`
  }

  /** The same as the text form has it: a whole number of one unit. */
  function period(ms) {
    const [unit, length] = UNITS.find(([, length]) => ms % length === 0) ?? []
    return unit && `${ms === length ? '' : ms / length}${unit}`
  }

  /** Defaults of fields that a limit may leave out. */
  const BEHIND = {
    anchor: 'epoch',
    blockFor: 0,
    blockGrowth: 1,
    coldFactor: 3,
    countBlocked: false,
    dripRate: 1000,
    dripSize: 1,
    factorScales: 'size',
    maxBurst: 1000,
    minInterval: 0,
    startsOn: 1,
    timeZone: 'UTC',
    warmup: 0,
  }

  /** The fields that say something: not the key, and none that has its default. */
  function lean(limit) {
    const defaults = { ...BEHIND, burst: limit.count, blockMax: limit.blockFor ?? 0 }
    return Object.fromEntries(
      Object.entries(limit).filter(([name, value]) => name !== 'key' && value !== null && defaults[name] !== value),
    )
  }

  /** A limit in the wire form as text; as JSON where the text form has no words for it. */
  function textOf(limit) {
    const { type, max, count, burst, period: every, resolution, unit, ...more } = lean(limit)
    const per = period(every)
    if (!Object.keys(more).length) {
      if (type === 'calendar-window') return `${max}/${unit} calendar-window`
      const steps = period(resolution ?? 0)
      if (type === 'token-bucket' && per) return `${count}/${per}${burst ? ` burst ${burst}` : ''}`
      if (type === 'sliding-window' && per && steps) {
        return `${max}/${per} sliding-window${resolution * 10 === every ? '' : ` resolution ${steps}`}`
      }
      if (/^(fixed-window|sliding-counter|sliding-log)$/.test(type) && per) return `${max}/${per} ${type}`
    }
    return JSON.stringify(lean(limit))
      .replace(/([:,{])(?=")|:(?=[\d{tf])/g, '$& ')
      .replace('}', ' }')
  }

  /** A text as the engine takes it: an object gets the key that it may leave out. */
  function definition(text) {
    if (!text.trim().startsWith('{')) return text
    try {
      return JSON.stringify({ key: 'api', ...JSON.parse(text) })
    } catch {
      return text
    }
  }

  Object.assign(playground, { TYPES, BEHIND, duration, lean, textOf, definition })
})()
