// Pictures of requests and levels, as SVG.

;(() => {
  const { COLUMNS, MOST, duration } = playground
  /** The heights of a row of dots, of a level below them, and of the axis. */
  const [ROW, LEVEL, AXIS, GAP] = [8, 46, 20, 30]
  const STRIP = MOST * ROW + LEVEL + GAP

  /** An element of HTML, or of SVG where the name says so. */
  function make(name, attributes = {}, ...children) {
    const [tag, svg] = name.split(':').reverse()
    const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag)
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
      else if (value === true) element.setAttribute(key, '')
      else if (value !== false && value !== undefined) element.setAttribute(key, value)
    }
    element.append(...children)
    return element
  }
  const svg = (name, attributes, ...children) => make(`svg:${name}`, attributes, ...children)

  /** The instants at which the axis has a number. */
  function ticks(span, width) {
    const wanted = width < 480 ? 4 : 8
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400]
      .map((seconds) => seconds * 1000)
      .find((step) => span / step <= wanted)
    return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step)
  }

  function axis(span, width, top) {
    const marks = ticks(span, width).flatMap((at) => {
      const x = (at / span) * width
      const anchor = x < 20 ? 'start' : x > width - 20 ? 'end' : 'middle'
      return [
        svg('line', { class: 'pg-grid', x1: x, x2: x, y1: 0, y2: top }),
        svg('text', { x, y: top + 14, 'text-anchor': anchor }, at ? duration(at) : '0'),
      ]
    })
    return svg('g', { class: 'pg-axis' }, ...marks)
  }

  const dot = (x, y, r) => `M${(x - r).toFixed(1)} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`

  /** The dots of some requests as one path: there may be hundreds, and each stroke of a brush draws them again. */
  function dots(requests, width, ground, small) {
    const step = width / COLUMNS
    const r = Math.max(1.6, Math.min(3.2, step / 2 - 0.7) - small)
    return requests.map(({ column, row }) => dot(column * step + step / 2, ground - row * ROW - ROW / 2, r)).join('')
  }

  /** The used units of one client over time, as an area. */
  function level(looks, quota, span, width, bottom) {
    const height = (remaining) => bottom - (LEVEL * Math.min(quota, Math.max(0, quota - remaining))) / quota
    let [line, last] = ['', bottom]
    for (const { at, remaining } of looks) {
      const [x, y] = [((at / span) * width).toFixed(1), Number(height(remaining).toFixed(1))]
      line += line ? `H${x}${y === last ? '' : `V${y}`}` : `M${x} ${y}`
      last = y
    }
    return line
  }

  /** A limit's requests and levels, a strip for each client. */
  function chart(outcome, { span, clients }, width) {
    const ground = (index) => index * STRIP + GAP + MOST * ROW
    const all = svg('svg', { width, height: clients.length * STRIP + AXIS, class: 'pg-chart' })
    all.append(axis(span, width, clients.length * STRIP))
    clients.forEach(({ name }, index) => {
      const mine = outcome.requests.filter((request) => request.name === name)
      const looks = outcome.levels.filter((look) => look.name === name)
      const [top, bottom] = [ground(index) + 4, ground(index) + 4 + LEVEL]
      const quota = Math.max(1, ...looks.map((look) => look.quota))
      const line = level(looks, quota, span, width, bottom)
      const denied = mine.filter(({ blocked }) => blocked)
      all.append(
        svg('path', { class: 'pg-level', d: `${line}V${bottom}H0Z` }),
        svg('path', { class: 'pg-level-line', d: line }),
        svg('line', { class: 'pg-full', x1: 0, x2: width, y1: top, y2: top }),
        svg('line', { class: 'pg-ground', x1: 0, x2: width, y1: bottom, y2: bottom }),
        svg('text', { class: 'pg-name', x: 0, y: index * STRIP + 18 }, name),
        svg(
          'text',
          { class: 'pg-count', x: width, y: index * STRIP + 18, 'text-anchor': 'end' },
          `${mine.length - denied.length} of ${mine.length} admitted`,
        ),
        svg('text', { class: 'pg-quota', x: 4, y: top + 13 }, `${quota}`),
        svg('path', {
          class: 'pg-admitted',
          d: dots(
            mine.filter(({ blocked }) => !blocked),
            width,
            ground(index),
            0,
          ),
        }),
        svg('path', { class: 'pg-denied', d: dots(denied, width, ground(index), 0.7) }),
      )
    })
    all.append(svg('g', { class: 'pg-chosen' }))
    return all
  }

  /** Marks one request of a chart. */
  function mark(chart, request, { clients }, width) {
    const step = width / COLUMNS
    const index = clients.findIndex(({ name }) => name === request?.name)
    if (index < 0) return chart.querySelector('.pg-chosen').replaceChildren()
    const x = (request.column + 0.5) * step
    const y = index * STRIP + GAP + (MOST - request.row - 0.5) * ROW
    chart
      .querySelector('.pg-chosen')
      .replaceChildren(
        svg('line', { x1: x, x2: x, y1: 0, y2: clients.length * STRIP }),
        svg('circle', { cx: x, cy: y, r: Math.min(6, step / 2 + 2), class: request.blocked ? 'pg-is-denied' : '' }),
      )
  }

  /** The place of a pointer in a chart: its client, column and row. */
  function place(x, y, width) {
    const strip = Math.floor(y / STRIP)
    const row = Math.floor((strip * STRIP + GAP + MOST * ROW - y) / ROW)
    return { strip, column: Math.floor((x / width) * COLUMNS), row: Math.max(0, row) }
  }

  /** The line on which a client's requests are painted. */
  function lane({ counts }, cursor, width, height) {
    const [step, row] = [width / COLUMNS, height / MOST]
    const all = svg('svg', { width, height, class: 'pg-lane-picture' })
    for (let column = 0; column < COLUMNS; column++) {
      all.append(
        svg('rect', {
          class: column === cursor ? 'pg-slot pg-cursor' : 'pg-slot',
          x: column * step + 0.5,
          y: 0,
          width: step - 1,
          height,
          rx: 1.5,
        }),
      )
      for (let unit = 0; unit < counts[column]; unit++) {
        all.append(
          svg('rect', {
            class: 'pg-unit',
            x: column * step + 0.5,
            y: height - (unit + 1) * row + 0.75,
            width: step - 1,
            height: row - 1.5,
            rx: 1.5,
          }),
        )
      }
    }
    return all
  }

  Object.assign(playground, { make, chart, mark, place, lane, axisOf: axis })
})()
